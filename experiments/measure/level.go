package measure

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/trainer"
	"driftlab/trainer/method"
	"driftlab/trainer/recipe"
)

// LevelRequest asks for the response by level of every mechanism.
type LevelRequest struct {
	// Recipe gives checkpoint, task, the size of the sample (of a group, four
	// responses at most), and the seed. All else is at its default, so that a
	// mechanism acts alone.
	Recipe recipe.Recipe
	// Only lists the mechanisms to measure, by name; none means all.
	Only []string
	// Workers is the number of cores; 0 means one.
	Workers int
	// Progress is called after each mechanism.
	Progress func(done, mechanisms int)
}

// LevelGap is the gap at one level of a mechanism.
type LevelGap struct {
	// Level is its strength in words.
	Level string `json:"dose"`
	// Set are the fields of the recipe that make it.
	Set []string `json:"set"`
	// Tokens is how many were compared.
	Tokens int `json:"tokens"`
	// K3 and MeanAbsDlogp are the size of the gap, nats; Unequal is the share of
	// tokens whose log-probs differ in any bit, FlipToken of those with other
	// experts.
	K3           float64 `json:"k3"`
	MeanAbsDlogp float64 `json:"mean_abs_dlogp"`
	FlipToken    float64 `json:"flip_token"`
	Unequal      float64 `json:"unequal"`
}

// Zero reports that both engines gave the same bits on the same routes.
func (g *LevelGap) Zero() bool {
	return g.Unequal == 0 && g.K3 == 0 && g.MeanAbsDlogp == 0 && g.FlipToken == 0
}

// Correction is what a mechanism's correction leaves of the gap at the highest level.
type Correction struct {
	// Name says what the correction is.
	Name string `json:"name"`
	LevelGap
	// Left is the share of the highest level's k3 that remains.
	Left float64 `json:"left"`
}

// LevelResponse is one mechanism, alone, at several levels.
type LevelResponse struct {
	// Mechanism is its name, and About says what the levels are.
	Mechanism string `json:"mechanism"`
	About     string `json:"about"`
	// Ordered says that the levels have an order, so that the gap must grow. The
	// levels of the others are different settings without one: orders of a sum.
	Ordered bool `json:"ordered"`
	// Levels begin with level zero.
	Levels []LevelGap `json:"doses"`
	// Correction is nil where there is none but not to take the level.
	Correction *Correction `json:"cure,omitempty"`
}

// LevelTable is every mechanism by which the engines can be made to disagree.
type LevelTable struct {
	// Checkpoint, Task and Seed say what was sampled.
	Checkpoint string `json:"checkpoint"`
	Task       string `json:"task"`
	Seed       uint64 `json:"seed"`
	// Mechanisms are in the order of the table.
	Mechanisms []LevelResponse `json:"mechanisms"`
}

// Mechanisms lists the names of the level table.
func Mechanisms() []string {
	var names []string
	for _, row := range levelTable {
		names = append(names, row.name)
	}
	return names
}

// Levels turns up each mechanism by itself, all else equal, and measures the gap
// at equal weights. That level zero gives the same bits in both engines is
// checked; the error says where it does not.
func Levels(ctx context.Context, q LevelRequest) (*LevelTable, error) {
	rows, err := levelRows(q.Only)
	if err != nil {
		return nil, err
	}
	r, p, err := trainer.Prepare(neutral(q.Recipe))
	if err != nil {
		return nil, err
	}
	_, requests := measureRequests(r, r.Task.New())
	t := &LevelTable{Checkpoint: r.Checkpoint, Task: r.Task.Name, Seed: r.Seed}
	for i, row := range rows {
		if r.Model.Dense() && row.routed {
			continue
		}
		r, p := r, p
		if row.layer != "" && !r.Model.HasLayer(row.layer) {
			if r, p, err = row.prepare(r); err != nil {
				return nil, fmt.Errorf("mechanism %s: %w", row.name, err)
			}
		}
		response, err := row.measure(ctx, r, p, requests, max(q.Workers, 1))
		if err != nil {
			return nil, fmt.Errorf("mechanism %s: %w", row.name, err)
		}
		t.Mechanisms = append(t.Mechanisms, *response)
		if q.Progress != nil {
			q.Progress(i+1, len(rows))
		}
	}
	return t, nil
}

// prepare gives a row its own model, with random weights, where the recipe's has no layer on
// which the mechanism acts.
func (row *levelRow) prepare(r recipe.Recipe) (recipe.Recipe, *model.Params, error) {
	c := r.Model
	c.LayerTypes = model.NewLayerTypes(row.layer, model.FullAttention)
	c.IndexTopK = 8 // of sparse attention: less than a response is long
	if c.WithDefaults().Layers == 1 {
		c.LayerTypes = model.NewLayerTypes(row.layer)
	}
	r.Checkpoint, r.Model = "", c.WithDefaults()
	return trainer.Prepare(r)
}

// levelRows returns the rows of those names, all for none.
func levelRows(only []string) ([]levelRow, error) {
	if len(only) == 0 {
		return levelTable, nil
	}
	var rows []levelRow
	for _, name := range only {
		i := slices.IndexFunc(levelTable, func(row levelRow) bool { return row.name == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown mechanism: %w", method.UnknownName(name, Mechanisms()))
		}
		rows = append(rows, levelTable[i])
	}
	return rows, nil
}

// levelGroup is the largest number of responses per prompt: there are more than a
// hundred measurements to make.
const levelGroup = 4

// neutral keeps of a recipe what says where to measure, and takes the default
// of everything by which engines could differ.
func neutral(r recipe.Recipe) recipe.Recipe {
	d := recipe.Default()
	d.Name, d.Seed, d.Checkpoint, d.Model, d.Task = r.Name, r.Seed, r.Checkpoint, r.Model, r.Task
	d.Rollout.MaxTokens, d.Rollout.Prompts, d.Rollout.Group = r.Rollout.MaxTokens, r.Rollout.Prompts, min(r.Rollout.Group, levelGroup)
	return d
}

// measure gives every level of a row, and its correction at the highest.
func (row *levelRow) measure(ctx context.Context, r recipe.Recipe, p *model.Params, requests []rollout.Request, workers int) (*LevelResponse, error) {
	out := &LevelResponse{Mechanism: row.name, About: row.about, Ordered: row.ordered}
	gap := func(d level) (LevelGap, error) {
		if err := ctx.Err(); err != nil {
			return LevelGap{}, err
		}
		return measureLevel(r, p, d, requests, workers)
	}
	for _, d := range row.levels {
		g, err := gap(d)
		if err != nil {
			return nil, err
		}
		out.Levels = append(out.Levels, g)
	}
	if zero := &out.Levels[0]; !zero.Zero() {
		return nil, fmt.Errorf("level zero (%s) leaves a gap: mean |dlogp| %g, %g of the tokens unequal", zero.Level, zero.MeanAbsDlogp, zero.Unequal)
	}
	if row.correction == nil {
		return out, nil
	}
	last := row.levels[len(row.levels)-1]
	g, err := gap(level{last.text, append(last.sets[:len(last.sets):len(last.sets)], row.correction.sets...)})
	if err != nil {
		return nil, fmt.Errorf("correction: %w", err)
	}
	out.Correction = &Correction{Name: row.correction.name, LevelGap: g, Left: g.K3 / out.Levels[len(out.Levels)-1].K3}
	if math.IsNaN(out.Correction.Left) {
		out.Correction.Left = 0
	}
	return out, nil
}

func measureLevel(r recipe.Recipe, p *model.Params, d level, requests []rollout.Request, workers int) (LevelGap, error) {
	if err := r.Set(d.sets...); err != nil {
		return LevelGap{}, err
	}
	w, err := trainer.BeforeMeasurement(r, p, workers)
	if err != nil {
		return LevelGap{}, err
	}
	probe := Probe{Recipe: r, Weights: w, Requests: requests, Workers: workers}
	pair, _, err := probe.gap(r.Learner.Numerics)
	if err != nil {
		return LevelGap{}, err
	}
	gap := &pair.Gap
	if r.Routing.FromRollout() {
		gap = pair.Replayed
		if r.Routing.Gates == recipe.GatesRecorded {
			gap = pair.ReplayedGates
		}
	}
	return LevelGap{Level: d.text, Set: d.sets, Tokens: gap.Tokens,
		K3: gap.K3, MeanAbsDlogp: gap.MeanAbsDlogp, FlipToken: gap.FlipToken, Unequal: gap.Unequal}, nil
}

// levelRow is one mechanism of the level table: what to set in a recipe for each
// level. A mechanism belongs into the table once a recipe can name it.
type levelRow struct {
	// name and about are LevelResponse's.
	name, about string
	// levels begin with zero: the same bits in both engines.
	levels []level
	// ordered says that the gap must grow from each level to the next.
	ordered bool
	// routed says that a dense model does not have the mechanism.
	routed bool
	// layer is the type of layer that has the mechanism, empty for any. A model without one
	// gives way to another of its size, with random weights.
	layer string
	// correction is what brings the gap of the highest level down, or nil.
	correction *levelCorrection
}

// level is one strength of a mechanism, in words and as assignments to a recipe.
type level struct {
	text string
	sets []string
}

// levelCorrection is what is set on top of the highest level.
type levelCorrection struct {
	name string
	sets []string
	// partial says that something must be left, else nothing may: not a bit.
	partial bool
}

// levels puts each text in place of the $ of the assignments.
func levels(texts []string, assignments ...string) []level {
	var list []level
	for _, text := range texts {
		d := level{text: text}
		for _, a := range assignments {
			d.sets = append(d.sets, strings.ReplaceAll(a, "$", text))
		}
		list = append(list, d)
	}
	return list
}

// mantissas are formats of 23, 11, 9, 7 and 5 mantissa bits with float32's range.
var mantissas = []string{"fp32", "e8m11", "e8m9", "e8m7", "e8m5"}

// inFormat is the row of a field of the rollout engine's numerics that is a
// format, corrected by the same format in the learner.
func inFormat(name, about, field string) levelRow {
	return levelRow{name: name, about: about, ordered: true,
		levels:     levels(mantissas, "rollout.numerics={base: fp32, "+field+": $}"),
		correction: &levelCorrection{name: "the same format in the learner", sets: []string{"learner.numerics={base: fp32, " + field + ": e8m5}"}}}
}

// quantised is a field that takes scales, corrected as inFormat's.
func quantised(name, about, field string, texts ...string) levelRow {
	last := texts[len(texts)-1]
	return levelRow{name: name, about: about, ordered: true,
		levels:     levels(texts, "rollout.numerics={base: bf16, "+field+": $}", "learner.numerics=bf16"),
		correction: &levelCorrection{name: "the same quantiser in the learner", sets: []string{"learner.numerics={base: bf16, " + field + ": " + last + "}"}}}
}

// orderOf is a mechanism whose levels are orders of the sums in the rollout
// engine, corrected by the same order in the learner.
func orderOf(name, about, base string, texts ...string) levelRow {
	last := texts[len(texts)-1]
	return levelRow{name: name, about: about,
		levels:     levels(texts, `rollout.numerics={base: `+base+`, reduction: "$"}`, "learner.numerics="+base),
		correction: &levelCorrection{name: "the same order in the learner", sets: []string{`learner.numerics={base: ` + base + `, reduction: "` + last + `"}`}}}
}

// retained is the row of a policy that gives up a part of the KV cache.
func retained(policy, about string) levelRow {
	return levelRow{name: "kv " + strings.ReplaceAll(policy, "_", " "), about: about, ordered: true,
		levels:     levels([]string{"1", "0.75", "0.5", "0.25"}, "rollout.kv_retention={policy: "+policy+", keep: $, sinks: 1, recent: 1}"),
		correction: &levelCorrection{name: "retention masks replayed", sets: []string{"retention.replay=true"}}}
}

// treeOfRanks is the row with TBIK for a correction: 8 ranks against 1.
func (row levelRow) treeOfRanks(base string) levelRow {
	row.correction = &levelCorrection{name: "one tree for 8 ranks and for 1 (TBIK)", sets: []string{
		`rollout.numerics={base: ` + base + `, reduction: "tree:4:8"}`, `learner.numerics={base: ` + base + `, reduction: "tree:4"}`}}
	return row
}

// levelTable lists the mechanisms in the order in which they are shown: formats,
// orders, batching, routing, sampling.
var levelTable = []levelRow{
	inFormat("weights", "format of the projections' weights", "weights"),
	inFormat("inputs", "format of the projections' inputs", "inputs"),
	inFormat("activations", "format of what is stored between operations", "activations"),
	inFormat("accumulator", "format of the running sums of matrix products", "accumulator"),
	{name: "promotion", about: "an accumulator of 14 bits, and how many k it sums before it is added to an fp32 one", ordered: true,
		levels: []level{
			{"fp32", []string{"rollout.numerics=fp32"}},
			{"every 4", []string{`rollout.numerics={base: fp32, accumulator: e8m13, reduction: "canonical+promote:4"}`}},
			{"every 16", []string{`rollout.numerics={base: fp32, accumulator: e8m13, reduction: "canonical+promote:16"}`}},
			{"never", []string{"rollout.numerics={base: fp32, accumulator: e8m13}"}},
		},
		correction: &levelCorrection{name: "the same accumulator in the learner", sets: []string{"learner.numerics={base: fp32, accumulator: e8m13}"}}},
	inFormat("scores", "format of attention scores", "scores"),
	inFormat("probabilities", "format of attention weights", "probabilities"),
	inFormat("kv cache", "format of keys and values", "kv_cache"),
	{name: "router", about: "format of the router's weights and logits", ordered: true, routed: true,
		levels:     levels([]string{"fp32", "e8m9", "e8m7", "e8m5", "e8m3"}, "rollout.numerics={base: fp32, router: $}"),
		correction: &levelCorrection{name: "routing replay (R3)", sets: []string{"routing.replay=r3"}, partial: true}},
	{name: "router and gates", about: "the same, corrected by replay of ids and gate values", ordered: true, routed: true,
		levels:     levels([]string{"fp32", "e8m9", "e8m7", "e8m5", "e8m3"}, "rollout.numerics={base: fp32, router: $}"),
		correction: &levelCorrection{name: "replay of ids and gates", sets: []string{"routing={replay: r3, gates: recorded}"}}},
	{name: "head", about: "format of the output head", ordered: true,
		levels:     levels(mantissas, "rollout.numerics={base: fp32, head: $}"),
		correction: &levelCorrection{name: "fp32 head", sets: []string{"rollout.numerics={base: fp32, head: fp32}"}}},

	quantised("scaled weights", "quantiser of the weights; both engines bf16 else", "weights", "bf16", "int8/channel", "fp8_e4m3/channel", "fp4_e2m1/nv"),
	quantised("scaled inputs", "quantiser of the inputs; both engines bf16 else", "inputs", "bf16", "int8/channel", "fp8_e4m3/channel"),
	quantised("scaled kv cache", "quantiser of keys and values; both engines bf16 else", "kv_cache",
		"bf16", "int8/channel", "fp8_e4m3/channel", "fp8_e5m2/channel"),

	{name: "wire", about: "format in which 4 tensor-parallel ranks send partial sums", ordered: true,
		levels: levels([]string{"fp32", "fp16", "bf16", "e8m5"}, `rollout.numerics={base: fp32, reduction: "tensor_parallel:4:ring:$"}`,
			`learner.numerics={base: fp32, reduction: "tensor_parallel:4:ring:fp32"}`),
		correction: &levelCorrection{name: "fp32 wire", sets: []string{`rollout.numerics={base: fp32, reduction: "tensor_parallel:4:ring:fp32"}`}}},
	// In fp32 another order is another rounding of the last bit, whatever its kind.
	orderOf("split-k", "parts of each sum", "fp32", "canonical", "split_k:2", "split_k:4", "split_k:8"),
	orderOf("pairwise", "leaf of pairwise sums", "fp32", "canonical", "pairwise:16", "pairwise:4"),
	orderOf("unfused", "products rounded before they are added", "fp32", "canonical", "unfused"),
	orderOf("tensor parallel", "ranks and all-reduce of the rollout engine, fp32", "fp32",
		"canonical", "tensor_parallel:2:ring:fp32", "tensor_parallel:4:ring:fp32", "tensor_parallel:4:tree:fp32", "tensor_parallel:8:ring:fp32").
		treeOfRanks("fp32"),
	orderOf("tensor parallel in bf16", "ranks of the rollout engine, partial sums sent in bf16", "bf16",
		"canonical", "tensor_parallel:2:ring:bf16", "tensor_parallel:4:ring:bf16", "tensor_parallel:8:ring:bf16").
		treeOfRanks("bf16"),
	{name: "expert parallel", about: "devices that share the experts of the rollout engine, partial sums sent in bf16", routed: true,
		levels:     levels([]string{"1", "2", "4", "8"}, `rollout.numerics={base: bf16, expert_parallel: "$:ring:bf16"}`, "learner.numerics=bf16"),
		correction: &levelCorrection{name: "the same devices in the learner", sets: []string{`learner.numerics={base: bf16, expert_parallel: "8:ring:bf16"}`}}},
	{name: "expert-parallel wire", about: "format in which 4 devices send the sums of their experts", ordered: true, routed: true,
		levels:     levels([]string{"fp32", "fp16", "bf16", "e8m5"}, `rollout.numerics={base: fp32, expert_parallel: "4:ring:$"}`),
		correction: &levelCorrection{name: "fp32 wire", sets: []string{`rollout.numerics={base: fp32, expert_parallel: "4:ring:fp32"}`}}},
	{name: "attention", about: "keys per tile of the online kernel; two-pass in the learner",
		levels: []level{
			{"two-pass", []string{"rollout.numerics=fp32"}},
			{"tiles of 16", []string{"rollout.numerics={base: fp32, attention: online, tile: 16}"}},
			{"tiles of 4", []string{"rollout.numerics={base: fp32, attention: online, tile: 4}"}},
		},
		correction: &levelCorrection{name: "the same kernel in the learner", sets: []string{"learner.numerics={base: fp32, attention: online, tile: 4}"}}},

	{name: "context parallelism", about: "positions of which one rank of the learner holds the keys; both bf16 else",
		levels: []level{
			{"all", []string{"rollout.numerics={base: bf16, attention: context_parallel, tile: 64}", "learner.numerics={base: bf16, attention: context_parallel, tile: 64}"}},
			{"16", []string{"rollout.numerics={base: bf16, attention: context_parallel, tile: 64}", "learner.numerics={base: bf16, attention: context_parallel, tile: 16}"}},
			{"4", []string{"rollout.numerics={base: bf16, attention: context_parallel, tile: 64}", "learner.numerics={base: bf16, attention: context_parallel, tile: 4}"}},
		},
		correction: &levelCorrection{name: "as many in the rollout engine", sets: []string{"rollout.numerics={base: bf16, attention: context_parallel, tile: 4}"}}},

	{name: "linear attention", about: "chunks of the gated delta rule in the learner; recurrent in the rollout engine; both bf16 else", layer: model.LinearAttention,
		levels: []level{
			{"recurrent", []string{"rollout.numerics=bf16", "learner.numerics=bf16"}},
			{"chunks of 4", []string{"rollout.numerics=bf16", "learner.numerics={base: bf16, linear_attention: chunked:4}"}},
			{"chunks of 16", []string{"rollout.numerics=bf16", "learner.numerics={base: bf16, linear_attention: chunked:16}"}},
			{"chunks of 64", []string{"rollout.numerics=bf16", "learner.numerics={base: bf16, linear_attention: chunked:64}"}},
		},
		correction: &levelCorrection{name: "the same form in the rollout engine", sets: []string{"rollout.numerics={base: bf16, linear_attention: chunked:64}"}}},
	{name: "linear-attention state", about: "format of the state of the gated delta rule, rounded after each token; recurrent in both engines", layer: model.LinearAttention, ordered: true,
		levels:     levels(mantissas, "rollout.numerics={base: fp32, linear_attention: recurrent:$}"),
		correction: &levelCorrection{name: "the same format in the learner", sets: []string{"learner.numerics={base: fp32, linear_attention: recurrent:e8m5}"}}},

	{name: "sparse-attention index", about: "format of the index of sparse attention in the rollout engine, which chooses positions; bf16 in the learner, both bf16 else", layer: model.SparseAttention, ordered: true,
		levels:     levels([]string{"bf16", "fp8_e4m3/channel", "fp4_e2m1"}, "rollout.numerics={base: bf16, index: $}", "learner.numerics=bf16"),
		correction: &levelCorrection{name: "choices of the index replayed", sets: []string{"retention.replay=true"}}},

	{name: "decoding", about: "parts into which a decoding step splits the keys; both engines have the same numerics",
		levels: []level{
			{"1", []string{"rollout.numerics={base: fp32, attention: online, tile: 4}", "learner.numerics={base: fp32, attention: online, tile: 4}"}},
			{"2", []string{"rollout.numerics={base: fp32, attention: split_kv, tile: 4, splits: 2}", "learner.numerics={base: fp32, attention: split_kv, tile: 4, splits: 2}"}},
			{"4", []string{"rollout.numerics=fp32-flash-decoding", "learner.numerics=fp32-flash-decoding"}},
		},
		correction: &levelCorrection{name: "a kernel that decodes as it prefills", sets: []string{"rollout.numerics={base: fp32, attention: online, tile: 4}"}}},
	{name: "batching", about: "kernels that split sums by the rows of a batch; responses decoded at a time",
		levels: []level{
			{"invariant, 4 slots", []string{"rollout.numerics=fp32", "rollout.slots=4"}},
			{"variant, all slots", []string{"rollout.numerics=fp32-batch-variant"}},
			{"variant, 4 slots", []string{"rollout.numerics=fp32-batch-variant", "rollout.slots=4"}},
		},
		correction: &levelCorrection{name: "batch-invariant kernels", sets: []string{"rollout.numerics=fp32"}}},
	{name: "prefill chunk", about: "tokens of a prompt per pass, under batch-variant kernels",
		levels: []level{
			{"invariant, 2", []string{"rollout.numerics=fp32", "rollout.prefill_chunk=2"}},
			{"variant, whole", []string{"rollout.numerics=fp32-batch-variant"}},
			{"variant, 2", []string{"rollout.numerics=fp32-batch-variant", "rollout.prefill_chunk=2"}},
		},
		correction: &levelCorrection{name: "batch-invariant kernels", sets: []string{"rollout.numerics=fp32"}}},
	{name: "prefix cache", about: "prompts read once per group, under batch-variant kernels",
		levels: []level{
			{"invariant, shared", []string{"rollout.numerics=fp32", "rollout.prefix_cache=true"}},
			{"variant, not shared", []string{"rollout.numerics=fp32-batch-variant"}},
			{"variant, shared", []string{"rollout.numerics=fp32-batch-variant", "rollout.prefix_cache=true"}},
		},
		correction: &levelCorrection{name: "batch-invariant kernels", sets: []string{"rollout.numerics=fp32"}}},

	retained("window", "share of the KV cache that stays: the first position and the newest"),
	retained("heavy_hitter", "share of the KV cache that stays: what received the most attention"),
	{name: "fleet", about: "share of bf16 engines among fp32 ones", ordered: true,
		levels: []level{
			{"0", []string{"rollout.numerics=fp32", "rollout.fleet=[]"}},
			{"0.25", []string{"rollout.fleet=[{numerics: bf16, share: 0.25}]"}},
			{"0.5", []string{"rollout.fleet=[{numerics: bf16, share: 0.5}]"}},
			{"1", []string{"rollout.fleet=[{numerics: bf16, share: 1}]"}},
		},
		correction: &levelCorrection{name: "bf16 in the learner too", sets: []string{"learner.numerics=bf16"}}},
	{name: "stale kv scales", about: "weight syncs per calibration of the rollout engine's scales of an fp8 KV cache, measured after as many steps less one",
		levels: levels([]string{"1", "2", "4", "8"}, "rollout.numerics={base: bf16, kv_cache: fp8_e4m3}", "learner.numerics={base: bf16, kv_cache: fp8_e4m3}",
			"rollout.kv_scales={prompts: 4, every: $}"),
		correction: &levelCorrection{name: "calibration at every sync", sets: []string{"rollout.kv_scales.every=1"}}},
	{name: "stale prefix cache", about: "training steps since the prompts in a shared prefix cache were read, which no weight sync empties", ordered: true,
		levels: []level{
			{"0", []string{"rollout.shared_prefix_cache={policy: none}", "steps=1"}},
			{"1", []string{"rollout.shared_prefix_cache={policy: none}", "steps=2"}},
			{"3", []string{"rollout.shared_prefix_cache={policy: none}", "steps=4"}},
			{"7", []string{"rollout.shared_prefix_cache={policy: none}", "steps=8"}},
		},
		correction: &levelCorrection{name: "flush at every weight sync", sets: []string{"rollout.shared_prefix_cache.policy=flush"}}},
	{name: "partial weight sync", about: "tensors of 4 training steps ago in the rollout engine, which no weight sync brings",
		levels:     levels([]string{"[]", "[router]", "[embedding]", "[attention]", "[experts]", "[head]", "[all]"}, "rollout.weight_sync={missed: $}", "steps=5"),
		correction: &levelCorrection{name: "a whole weight sync", sets: []string{"rollout.weight_sync.missed=[]"}}},
	{name: "workers without a weight sync", about: "share of the responses from workers with the weights of 4 training steps ago", ordered: true,
		levels: []level{
			{"0", []string{"rollout.weight_sync={missed: []}", "steps=5"}},
			{"0.25", []string{"rollout.weight_sync={missed: [all], workers: 0.25}", "steps=5"}},
			{"0.5", []string{"rollout.weight_sync={missed: [all], workers: 0.5}", "steps=5"}},
			{"1", []string{"rollout.weight_sync={missed: [all]}", "steps=5"}},
		},
		correction: &levelCorrection{name: "a weight sync of every worker", sets: []string{"rollout.weight_sync.missed=[]"}}},
	{name: "lora merge", about: "alpha of adapters of rank 8 after 4 training steps, merged into bf16 weights in the rollout engine and unmerged in the learner",
		levels: []level{
			{"untrained", []string{"rollout.numerics=bf16", "learner.numerics={base: bf16, adapters: unmerged}", "lora={rank: 8, alpha: 16}", "steps=1"}},
			{"alpha 4", []string{"rollout.numerics=bf16", "learner.numerics={base: bf16, adapters: unmerged}", "lora={rank: 8, alpha: 4}", "steps=5"}},
			{"alpha 16", []string{"rollout.numerics=bf16", "learner.numerics={base: bf16, adapters: unmerged}", "lora={rank: 8, alpha: 16}", "steps=5"}},
			{"alpha 64", []string{"rollout.numerics=bf16", "learner.numerics={base: bf16, adapters: unmerged}", "lora={rank: 8, alpha: 64}", "steps=5"}},
		},
		correction: &levelCorrection{name: "unmerged adapters in the rollout engine too", sets: []string{"rollout.numerics={base: bf16, adapters: unmerged}"}}},
	{name: "noise", about: "injected: standard deviation of noise on the norms of the rollout engine", ordered: true,
		levels: levels([]string{"0", "1e-4", "1e-3", "1e-2"}, "rollout.noise={start: $, end: 1e-5}")},

	{name: "drafter log-probs", about: "numerics of a drafter whose log-probs are recorded, the verifier fp32", ordered: true,
		levels:     levels([]string{"fp32", "bf16", "fp8-w8a8", "fp4-all"}, "rollout.speculative={numerics: $, log_probs: drafter}"),
		correction: &levelCorrection{name: "the verifier's log-probs", sets: []string{"rollout.speculative={numerics: fp4-all, log_probs: verifier}"}}},
	{name: "lossy verification", about: "leniency towards a drafter in fp4; log-probs of the true law are recorded", ordered: true,
		levels:     levels([]string{"0", "0.1", "0.5", "2"}, "rollout.speculative={numerics: fp4-all, verify: lossy, tau: $, log_probs: law}"),
		correction: &levelCorrection{name: "exact verification", sets: []string{"rollout.speculative={numerics: fp4-all, verify: exact, log_probs: law}"}}},

	{name: "support", about: "top-p of the rollout; the learner scores the whole vocabulary", ordered: true,
		levels:     levels([]string{"1", "0.95", "0.8", "0.6"}, "rollout.top_p=$"),
		correction: &levelCorrection{name: "keep sampling mask", sets: []string{"support.replay=true"}}},
	{name: "temperature", about: "temperature of the rollout; the learner takes its policy at 1", ordered: true,
		levels:     levels([]string{"1", "1.1", "1.25", "1.5"}, "rollout.temperature=$", "learner.temperature=1"),
		correction: &levelCorrection{name: "the rollout's temperature in the learner", sets: []string{"learner.temperature=0"}}},
	{name: "log-probs", about: "temperature of the rollout, which records raw log-probs", ordered: true,
		levels:     levels([]string{"1", "1.1", "1.25", "1.5"}, "rollout.temperature=$", "rollout.log_probs=raw"),
		correction: &levelCorrection{name: "processed log-probs", sets: []string{"rollout.log_probs=processed"}}},
}
