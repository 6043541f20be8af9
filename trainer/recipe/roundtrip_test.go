package recipe

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"driftlab/engine"
	"driftlab/model"
	"driftlab/trainer/method/advantage"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/reward"
	"driftlab/trainer/method/schedule"
	"driftlab/trainer/method/task"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// difference compares two recipes in every field, also in those that no text
// shows, except the functions that some methods hold.
func difference(a, b Recipe) string {
	everything := cmp.Exporter(func(reflect.Type) bool { return true })
	functions := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().Type().Kind() == reflect.Func }, cmp.Ignore())
	return cmp.Diff(a, b, everything, functions)
}

// drawChoice draws a method with its default parameters.
func drawChoice[T any](t *rapid.T, label string) Choice[T] {
	return mustChoose[T](rapid.SampledFrom(table[T]().Names()).Draw(t, label))
}

// drawRecipe draws a recipe; most are valid.
func drawRecipe(t *rapid.T) Recipe {
	r := Default()
	r.Name = rapid.StringMatching(`[a-z0-9][a-zA-Z0-9._-]{0,20}`).Draw(t, "name")
	r.Seed = rapid.Uint64().Draw(t, "seed")
	r.Steps = rapid.IntRange(1, 10000).Draw(t, "steps")
	r.Checkpoint = rapid.SampledFrom([]string{"", "chain-base", "./a b", "yes", "5", "~", "a: b # c"}).Draw(t, "checkpoint")
	if rapid.Bool().Draw(t, "hasModel") {
		r.Model = model.Config{
			Layers: rapid.IntRange(0, 3).Draw(t, "layers"), Experts: rapid.SampledFrom([]int{1, 4, 8}).Draw(t, "experts"),
			DModel: rapid.SampledFrom([]int{0, 16, 64}).Draw(t, "d_model"), Positions: rapid.SampledFrom([]string{"", "rotary", "learned"}).Draw(t, "positions"),
			NormEps: rapid.SampledFrom([]float64{0, 1e-5, 1e-6}).Draw(t, "norm_eps"),
		}
	}
	r.Task = drawChoice[task.Task](t, "task")
	preset := rapid.SampledFrom(engine.Presets())
	r.Rollout.Numerics, r.Learner.Numerics = preset.Draw(t, "rollout"), preset.Draw(t, "learner")
	r.Rollout.Numerics.Head = preset.Draw(t, "head").Head
	r.Rollout.Temperature = rapid.Float64Range(1e-3, 5).Draw(t, "temperature")
	r.Rollout.TopP = rapid.Float64Range(0.01, 1).Draw(t, "top_p")
	r.Rollout.PrefillChunk = rapid.IntRange(0, 64).Draw(t, "prefill_chunk")
	r.Rollout.PrefixCache = rapid.Bool().Draw(t, "prefix_cache")
	r.Routing.Router = rapid.SampledFrom([]string{"trained", RouterFrozen}).Draw(t, "router")
	if r.Routing.Released = rapid.Bool().Draw(t, "released"); r.Routing.Released {
		r.Routing.Replay, r.Routing.Gates = ReplayR3, GatesRecorded
	}
	r.Support.Replay = rapid.Bool().Draw(t, "support")
	if rapid.Bool().Draw(t, "compresses") {
		k := newOf[KVRetention]()
		k.Policy = rapid.SampledFrom([]string{"window", retainHeavyHitter}).Draw(t, "policy")
		k.Keep, k.Budget = rapid.Float64Range(0, 1).Draw(t, "keep"), rapid.IntRange(0, 50).Draw(t, "budget")
		r.Rollout.KVRetention = k
		r.Retention = &Retention{Replay: rapid.Bool().Draw(t, "retention")}
	}
	if rapid.Bool().Draw(t, "shares") {
		k := newOf[SharedPrefixCache]()
		k.Policy = rapid.SampledFrom([]string{"flush", "salt", PrefixesUnflushed}).Draw(t, "at sync")
		k.Blocks, k.BlockTokens = rapid.IntRange(1, 5000).Draw(t, "blocks"), rapid.IntRange(1, 64).Draw(t, "block_tokens")
		r.Rollout.SharedPrefixCache = k
	}
	if rapid.IntRange(0, 3).Draw(t, "adapters") == 0 { // seldom: it goes with few other sections
		l := newOf[LoRA]()
		l.Rank, l.Alpha = rapid.IntRange(1, 64).Draw(t, "rank"), rapid.Float64Range(0.1, 64).Draw(t, "alpha")
		l.Targets = rapid.SliceOfN(rapid.SampledFrom([]string{"attention", "experts", "*.q_proj.*"}), 0, 2).Draw(t, "targets")
		if len(l.Targets) == 0 {
			l.Targets = nil
		}
		r.LoRA = l
	}
	if rapid.IntRange(0, 3).Draw(t, "partial sync") == 0 {
		w := newOf[WeightSync]()
		w.Missed = rapid.SliceOfN(rapid.SampledFrom([]string{"all", "router", "model.layers.0.*"}), 0, 2).Draw(t, "missed")
		if len(w.Missed) == 0 {
			w.Missed = nil
		}
		w.Workers, w.From = rapid.Float64Range(0.01, 1).Draw(t, "workers"), rapid.IntRange(1, 9).Draw(t, "from")
		w.Syncs, w.Old = rapid.IntRange(0, 9).Draw(t, "syncs"), rapid.SampledFrom([]string{"last", OldInitial}).Draw(t, "old")
		r.Rollout.WeightSync = w
	}
	if rapid.Bool().Draw(t, "drafts") {
		s := newOf[Speculative]()
		s.Draft, s.Refresh = rapid.IntRange(1, 64).Draw(t, "draft"), rapid.IntRange(0, 9).Draw(t, "refresh")
		s.Verify = rapid.SampledFrom([]string{"exact", VerifyLossy, "greedy"}).Draw(t, "verify")
		s.LogProbs = rapid.SampledFrom([]string{VerifierLogProbs, "drafter", "law"}).Draw(t, "whose")
		s.Adaptive, s.Cost = rapid.Bool().Draw(t, "adaptive"), rapid.Float64Range(0, 2).Draw(t, "cost")
		if rapid.Bool().Draw(t, "coarse") {
			n := preset.Draw(t, "drafter")
			s.Numerics = &n
		}
		r.Rollout.Speculative = s
	}
	r.Learner.Optimizer.LR = rapid.Float64Range(1e-12, 1).Draw(t, "lr")
	r.Schedule = drawChoice[schedule.Policy](t, "schedule")
	if rapid.Bool().Draw(t, "refuses") {
		s := newOf[DynamicSampling]()
		s.Refuse, s.MaxBatches = rapid.SampledFrom([]string{"equal", RefuseEqualReward, RefuseSolved}).Draw(t, "refuse"), rapid.IntRange(1, 20).Draw(t, "batches")
		r.Rollout.DynamicSampling = s
	}
	if rapid.Bool().Draw(t, "replays") {
		p := newOf[schedule.Replay]()
		p.Draws, p.Tau, p.Beta = rapid.IntRange(0, 9).Draw(t, "draws"), rapid.Float64Range(0.1, 1e9).Draw(t, "tau"), rapid.Float64Range(0, 1).Draw(t, "beta")
		r.Replay = p
	}
	if r.OnClock() { // then what it does not go with goes
		o := Default().Rollout
		r.Rollout.Speculative, r.Rollout.PrefillChunk, r.Rollout.Fleet, r.Rollout.KVScales, r.Rollout.Noise = nil, 0, nil, o.KVScales, o.Noise
		r.Rollout.KVRetention, r.Retention = nil, nil
		if rapid.Bool().Draw(t, "cluster") {
			k := newOf[Cluster]()
			k.Workers, k.Costs.Sync = rapid.IntRange(1, 9).Draw(t, "workers"), rapid.IntRange(0, 9).Draw(t, "sync")
			r.Cluster = k
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "parts") {
		r.Reward = append(r.Reward, drawChoice[reward.Shaper](t, "part"))
	}
	r.Advantage = drawChoice[advantage.Estimator](t, "advantage")
	r.Loss = drawChoice[loss.Loss](t, "loss")
	r.KL = drawChoice[loss.KL](t, "kl")
	r.Correction.Weights = drawChoice[correction.Weighting](t, "weights")
	for range rapid.IntRange(0, 3).Draw(t, "masks") {
		r.Correction.Masks = append(r.Correction.Masks, drawChoice[correction.Masking](t, "mask"))
	}
	if rapid.Bool().Draw(t, "pretrain") {
		p := newOf[Pretrain]()
		p.Batch = rapid.IntRange(1, 100).Draw(t, "batch")
		r.Pretrain = p
	}
	return r
}

// newOf is a section as it is before anything is read into it.
func newOf[T any]() *T { return newSection(reflect.TypeFor[T]()).Interface().(*T) }

// TestRoundTrip checks that text and value are two forms of the same thing.
func TestRoundTrip(t *testing.T) {
	valid, drawn := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		r := drawRecipe(t)
		drawn++
		if r.Validate() != nil {
			return
		}
		valid++
		for _, r := range []Recipe{r, r.Resolved()} {
			text := r.YAML()
			back, err := Parse("back.yaml", text)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if diff := difference(r, back); diff != "" {
				t.Fatalf("read back (-want +got):\n%s\n%s", diff, text)
			}
			if again := back.YAML(); !bytes.Equal(again, text) {
				t.Fatalf("second text differs:\n%s\nfirst:\n%s", again, text)
			}
			if err := back.Set(); err != nil || difference(r, back) != "" {
				t.Fatalf("setting nothing changes the recipe: %v", err)
			}
		}
		if a, b := r.Resolved(), r.Resolved().Resolved(); difference(a, b) != "" {
			t.Fatalf("resolving twice differs:\n%s\n%s", a.YAML(), b.YAML())
		}
	})
	if valid < drawn/10 {
		t.Errorf("only %d of %d drawn recipes were valid", valid, drawn)
	}
}

// FuzzParse checks that no text makes Parse panic, that every error is Faults,
// and that what it accepts survives the round trip.
func FuzzParse(f *testing.F) {
	scripts, err := filepath.Glob("testdata/faults/*.txt")
	if err != nil || len(scripts) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, path := range scripts {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		text, _, _ = bytes.Cut(text, []byte("---"))
		f.Add(text)
	}
	for _, name := range Names() {
		text, _ := shippedText(name)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Parse("fuzz.yaml", text)
		if err != nil {
			var faults Faults
			if !errors.As(err, &faults) || len(faults) == 0 {
				t.Fatalf("error %T: %v", err, err)
			}
			return
		}
		back, err := Parse("back.yaml", r.YAML())
		if err != nil || difference(r, back) != "" {
			t.Fatalf("%v\n%s", err, r.YAML())
		}
	})
}

func TestIdentity(t *testing.T) {
	headline := func(set ...string) Recipe {
		r := loaded(t, "headline", set...)
		return r.Resolved()
	}
	identity := func(set ...string) string { return headline(set...).Identity() }
	plain := identity()
	// Published runs are found again by their identity. If it moved: the zero value of a new
	// field should be what happened before there was one.
	if want := "82b276c531630171"; plain != want {
		t.Errorf("headline is %s, was %s", plain, want)
	}
	renamed := headline()
	renamed.Name = "another"
	if renamed.Identity() != plain {
		t.Error("the name is part of it")
	}
	seen := map[string]string{plain: "plain"}
	for _, set := range []string{"advantage.positive_weight=0", "seed=0", "correction.masks=[{name: opsm}]", "rollout.pool={prompts: 8}", "rollout.top_p=0.9"} {
		if was, ok := seen[identity(set)]; ok {
			t.Errorf("%s has the identity of %s", set, was)
		}
		seen[identity(set)] = set
	}
}
