package recipe

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"driftlab/model"
	"driftlab/precision"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/task"
)

// TestShipped checks every recipe in the binary, and that it describes itself.
func TestShipped(t *testing.T) {
	names := Names()
	if len(names) < 3 {
		t.Fatalf("shipped recipes: %v", names)
	}
	for _, name := range names {
		r, err := Load(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if r.Name != name {
			t.Errorf("%s calls itself %s", name, r.Name)
		}
		if text, _ := shippedText(name); !strings.HasPrefix(string(text), "# ") || len(Description(name)) < 20 {
			t.Errorf("%s does not begin with a comment that describes it", name)
		}
		if strings.HasSuffix(name, "-base") != (r.Pretrain != nil) {
			t.Errorf("%s: warm starts, and only they, are called something-base", name)
		}
	}
}

// TestDefaults holds the code's defaults against those of a nearly empty recipe.
func TestDefaults(t *testing.T) {
	r, err := Parse("x/my-run.yaml", []byte("seed: 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Name = "my-run"
	if diff := difference(want, r); diff != "" {
		t.Error(diff)
	}
	if err := Default().Validate(); err == nil || !strings.Contains(err.Error(), "name: missing") {
		t.Errorf("a recipe without a name: %v", err)
	}
}

// TestModelSection distinguishes no section, the dense variant and the default.
func TestModelSection(t *testing.T) {
	for _, tc := range []struct {
		text string
		want model.Config
	}{
		{"name: a", model.Config{}},
		{"model: {}", model.Config{}},
		{"model: {experts: 0}", model.Config{Experts: 1}},
		{"model: {d_model: 64}", model.Config{DModel: 64, Experts: 8}},
		{"model: {d_model: 64, experts: 0}", model.Config{DModel: 64}},
	} {
		r, err := Parse("a.yaml", []byte(tc.text))
		if err != nil || r.Model != tc.want {
			t.Errorf("%s: %+v, %v", tc.text, r.Model, err)
		}
	}
	r, _ := Parse("a.yaml", []byte("model: {experts: 0}"))
	if m := r.Resolved().Model; !m.Dense() || m.DFF != 64 || m.Vocab != 32 {
		t.Errorf("dense model resolved to %+v", m)
	}
	if err := r.Set("model.d_model=64"); err != nil || r.Resolved().Model.DFF != 128 {
		t.Errorf("d_ff does not follow d_model: %+v, %v", r.Resolved().Model, err)
	}
}

// TestResolvedFor gives recipes a checkpoint.
func TestResolvedFor(t *testing.T) {
	checkpoint := model.Default()
	checkpoint.Vocab = 64
	for _, tc := range []struct{ text, want string }{
		{"checkpoint: x", ""},
		{"{checkpoint: x, model: {d_model: 32}}", ""},
		{"{checkpoint: x, model: {d_model: 64, heads: 4}}", "model.d_model: 64, but the checkpoint x has 32"},
		{"{checkpoint: x, model: {vocab: 32}}", "model.vocab: 32, but the checkpoint x has 64"},
		{"{checkpoint: x, rollout: {max_tokens: 120}}", "rollout.max_tokens: 120 after a prompt"},
	} {
		r, err := Parse("a.yaml", []byte(tc.text))
		if err != nil {
			t.Fatal(err)
		}
		r, err = r.ResolvedFor(checkpoint)
		if tc.want == "" {
			if err != nil || r.Model != checkpoint.WithDefaults() {
				t.Errorf("%s: %+v, %v", tc.text, r.Model, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", tc.text, err, tc.want)
		}
	}
}

// TestLossScale resolves auto by the format of the gradients.
func TestLossScale(t *testing.T) {
	for preset, want := range map[string]string{"fp32": ScaleNone, "bf16": ScaleNone, "fp16": ScaleDynamic} {
		r := loaded(t, "default", "learner.numerics="+preset)
		if got := r.Resolved().Learner.LossScale.Mode; got != want {
			t.Errorf("%s: loss scale %s, want %s", preset, got, want)
		}
	}
}

// TestSet changes values of every kind.
func TestSet(t *testing.T) {
	r := loaded(t, "fp8-rollout-token-tis")
	before := r.YAML()
	err := r.Set("learner.optimizer.lr=5e-4", "rollout.numerics={base: bf16, kv_cache: fp8_e4m3}", "loss.name=gspo", "kl=k3",
		"correction.masks[0].low=0.9", "correction.masks[1]=veto", "task.difficulty=[2, 4]", "name=other", "correction.weights=none",
		"learner.numerics.head=fp32", "pretrain={}")
	if err != nil {
		t.Fatal(err)
	}
	if r.Learner.Optimizer.LR != 5e-4 || r.Rollout.Numerics.KVCache.Format != precision.E4M3 || r.Rollout.Numerics.Name != "bf16" ||
		r.Loss.Name != "gspo" || r.KL.Name != "k3" || r.Name != "other" || r.Learner.Numerics.Head != precision.FP32 ||
		r.Learner.Numerics.Activations != precision.BF16 || r.Pretrain == nil || *r.Pretrain != *newOf[Pretrain]() {
		t.Errorf("set to\n%s", r.YAML())
	}
	if d := r.Task.Params.(*task.Chain).Difficulty; d != (task.Range{2, 4}) {
		t.Errorf("difficulty %v", d)
	}
	p := r.Correction.Pipeline()
	if len(p.Masks) != 2 || p.Masks[0].(*correction.Geometric).Low != 0.9 || p.Masks[0].(*correction.Geometric).High != 1.01 || p.Weights != nil {
		t.Errorf("pipeline %+v", p)
	}

	again, err := Load("fp8-rollout-token-tis")
	if err != nil || string(again.YAML()) != string(before) {
		t.Errorf("setting one copy changed another: %v", err)
	}
	err = again.Set("steps=5", "loss.eps_lo=3")
	want := `--set loss.eps_lo=3: loss.eps_lo: unknown field; did you mean "eps_low"?`
	if err == nil || err.Error() != want || string(again.YAML()) != string(before) {
		t.Errorf("error %v, want %s, and no change", err, want)
	}
}

// TestNew checks that each call makes a method of its own.
func TestNew(t *testing.T) {
	r, err := Load("default", "loss.eps_low=0.3", "kl={name: k1, in: reward, controller: {target: 0.1}}")
	if err != nil {
		t.Fatal(err)
	}
	a, b := r.Loss.New().(*loss.PPOClip), r.Loss.New().(*loss.PPOClip)
	if a == b || a == r.Loss.Params || a.EpsLow != 0.3 || a.EpsHigh != 0.28 {
		t.Errorf("%p %+v, %p %+v", a, a, b, b)
	}
	kl := r.KL.New().(*loss.KLTerm)
	if err := kl.SetState(method.AppendState(nil, 9.0)); err != nil || r.KL.New().Coefficient() != 0.001 || kl.Controller.Target != 0.1 {
		t.Errorf("the state of one method reaches the next: %v", err)
	}
}

// TestLoadErrors names what cannot be read.
func TestLoadErrors(t *testing.T) {
	dir := t.TempDir()
	long := filepath.Join(dir, "long.yaml")
	must(t, os.WriteFile(long, []byte(strings.Repeat("# comment\n", maxText/5)), 0o644))
	binary := filepath.Join(dir, "binary.yaml")
	must(t, os.WriteFile(binary, []byte("name: a\n\xff\n"), 0o644))
	for _, tc := range []struct{ name, want string }{
		{"defalt", `defalt: no file and no shipped recipe of that name: unknown name "defalt": did you mean "default"? (known: `},
		{"./none.yaml", "./none.yaml: no such file or directory"},
		{dir, dir + ": is a folder, and a recipe is a file"},
		{long, long + ": too long for a recipe: the limit is 1048576 bytes"},
		{binary, binary + ":2: not UTF-8 text"},
		{"../shipped/default", "../shipped/default: no such file or directory"},
	} {
		_, err := Load(tc.name)
		var faults Faults
		if !errors.As(err, &faults) || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", tc.name, err, tc.want)
		}
	}
}

// TestRate checks the learning rate's course against its definition.
func TestRate(t *testing.T) {
	o := *newOf[Optimizer]()
	o.LR, o.Warmup = 1, 4
	for _, tc := range []struct {
		decay           string
		start, final    float64
		update, updates int
		want            float64
	}{
		{decayConstant, 0, 0, 0, 100, 0.2},
		{decayConstant, 0, 0, 3, 100, 0.8},
		{decayConstant, 0, 0, 4, 100, 1},
		{decayConstant, 0, 0, 99, 100, 1},
		{decayLinear, 0.6, 0.1, 60, 101, 1},
		{decayLinear, 0.5, 0.1, 100, 101, 0.1},
		{decayLinear, 0, 0, 4, 105, 1},
		{decayLinear, 0, 0, 54, 105, 0.5},
		{decayLinear, 0, 0, 104, 105, 0},
		{decayCosine, 0, 0, 54, 105, 0.5},
		{decayCosine, 0, 0.2, 104, 105, 0.2},
		{decayCosine, 0, 0, 29, 105, 0.5 + math.Sqrt2/4},
		{decayLinear, 0, 0.5, 5, 5, 0.5}, // warm-up is the whole run
		{decayLinear, 0, 0.5, 0, 1, 0.2},
	} {
		o.Decay, o.DecayStart, o.Final = tc.decay, tc.start, tc.final
		if got := o.Rate(tc.update, tc.updates); math.Abs(got-tc.want) > 1e-9 {
			t.Errorf("%+v: %v", tc, got)
		}
	}
}

// TestEveryMethodReadsBack sets every method by its name, with what it does not go without.
func TestEveryMethodReadsBack(t *testing.T) {
	with := map[string][]string{"marginal_utility": {"prefix_values={}"}, "vine": {"prefix_values={by: completions}"}, "recorded": {"routing.replay=r3"},
		"advantage": {"reward=[exact, process]"}, "terms": {"teacher=chain-base", "distillation={}", "retention.replay=true", "rollout.kv_retention={}"}}
	for _, m := range Methods() {
		value := m.Name
		switch m.Field {
		case "reward":
			value = "[exact, " + m.Name + "]"
		case "correction.masks", "terms", "guards":
			value = "[" + m.Name + "]"
		}
		checkDefaults(t, slices.Concat([]string{m.Field + "=" + value}, with[m.Field], with[m.Name])...)
	}
}

// checkDefaults sets a method by name alone and reads the result back.
func checkDefaults(t *testing.T, set ...string) {
	t.Helper()
	r, err := Load("default", set...)
	if err != nil {
		t.Errorf("%s: %v", set, err)
		return
	}
	if _, err := Parse("back.yaml", r.YAML()); err != nil {
		t.Errorf("%v: %v\n%s", set, err, r.YAML())
	}
}

// TestPresets holds the section that a preset's name stands for against the
// preset, and changes one of its fields.
func TestPresets(t *testing.T) {
	for _, p := range correction.Presets {
		r, err := Load("default", "correction="+p.Name, "loss="+p.Loss)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := r.Correction.Pipeline().Recipe(), p.New().Recipe(); got != want {
			t.Errorf("%s: read as %s, is %s", p.Name, got, want)
		}
		again, err := Parse("back.yaml", r.YAML())
		if err != nil || string(again.YAML()) != string(r.YAML()) {
			t.Errorf("%s does not read back: %v", p.Name, err)
		}
	}
	for _, sets := range [][]string{
		{"correction=decoupled_geo_rs_token_tis", "correction.weights={name: token_tis, cap: 3}"},
		{"correction={weights: {name: token_tis, cap: 3}, preset: decoupled_geo_rs_token_tis}"},
		{"correction.preset=decoupled_geo_rs_token_tis", "correction.weights={name: token_tis, cap: 3}"},
	} {
		r, err := Load("default", sets...)
		if err != nil {
			t.Errorf("%v: %v", sets, err)
			continue
		}
		c := r.Correction
		if len(c.Masks) != 1 || c.Masks[0].Name != "seq_mean_k1" || c.Weights.Params.(*correction.TokenTIS).Cap != 3 {
			t.Errorf("%v: %s", sets, c.Pipeline().Recipe())
		}
	}
}

// TestNeeds finds columns in lists, in conditions and nowhere else.
func TestNeeds(t *testing.T) {
	for _, tc := range []struct {
		set    string
		column batch.Column
		want   bool
	}{
		{"name=a", batch.Advantage, true},
		{"name=a", batch.ScoreNorm, false},
		{"advantage=opob", batch.ScoreNorm, true},
		{"advantage=turn_level", batch.Turn, true},
		{"loss=kl_cov", batch.Dist, true},
		{"loss=kl_cov", batch.DistRoll, false},
		{"terms=[top_entropy]", batch.Entropy, true},
		{"kl=exact", batch.DistRef, true},
		{"guards=[ess_lr]", batch.LogpRoll, true},
		{"correction.masks=[veto, trm]", batch.DistRoll, true},
		{"reward=[exact, length_anchor]", batch.PromptID, true},
	} {
		r, err := Load("default", tc.set)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Needs(tc.column); got != tc.want {
			t.Errorf("%s needs %s: %v", tc.set, tc.column, got)
		}
	}
}

// TestLocate finds fields in the text and in assignments.
func TestLocate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.yaml")
	must(t, os.WriteFile(path, []byte("name: a\ncheckpoint: x\nmodel:\n  layers: 2\n"), 0o644))
	for _, tc := range []struct {
		field, set, source string
		line               int
	}{
		{"checkpoint", "", path, 2},
		{"model.layers", "", path, 4},
		{"model.heads", "", path, 4},
		{"steps", "", path, 0},
		{"checkpoint", "checkpoint=y", "--set checkpoint=y", 0},
	} {
		var changes []Change
		if tc.set != "" {
			c, err := ParseChange("--set", tc.set)
			if err != nil {
				t.Fatal(err)
			}
			changes = append(changes, c)
		}
		if source, line := Locate(path, tc.field, changes...); source != tc.source || line != tc.line {
			t.Errorf("%s %s: %s:%d, want %s:%d", tc.field, tc.set, source, line, tc.source, tc.line)
		}
	}
	if source, line := Locate("none", "steps"); source != "none" || line != 0 {
		t.Errorf("a recipe that is not there: %s:%d", source, line)
	}
}

// loaded is a recipe with changes.
func loaded(t testing.TB, name string, sets ...string) Recipe {
	t.Helper()
	r, err := Load(name, sets...)
	must(t, err)
	return r
}

// must stops the test at an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
