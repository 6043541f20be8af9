package diagnose

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"driftlab/experiments/diagnose/reader"
	"driftlab/trainer/method/correction"
)

// Two responses: ρ = 1, 3 with advantage 1, and ρ = 1/2, 1 with advantage -1.
func twoResponses() []*kept {
	return []*kept{
		{roll: []float64{-2, -2}, old: []float64{-2, -2 + math.Log(3)}, advantage: []float64{1, 1}, env: "a"},
		{roll: []float64{-1, -1}, old: []float64{-1 - math.Ln2, -1}, advantage: []float64{-1, -1}, env: "b"},
	}
}

func near(got, want float64) bool { return math.Abs(got-want) <= 1e-12*max(1, math.Abs(want)) }

// Token TIS caps 3 at 2: w = 1, 2, 1/2, 1.
func TestEffectByHand(t *testing.T) {
	f := newTrial(twoResponses()).try("token_tis", "weights", &correction.Pipeline{Weights: &correction.TokenTIS{Cap: 2}}, nil)
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"tokens", f.TokensChanged, 2. / 4}, {"responses", f.ResponsesChanged, 1}, {"removed", f.WeightRemoved, .5 / 4}, {"added", f.WeightAdded, 1. / 4},
		{"ESS", f.ESSToken, 4.5 * 4.5 / (4 * 6.25)}, {"ESS of responses", f.ESSSequence, (1.5 + .75) * (1.5 + .75) / (2 * (1.5*1.5 + .75*.75))},
		// mean(wA) = (3 - 1.5)/4, mean(ρA) = (4 - 1.5)/4, sd(A) = 1
		{"distance", f.Distance, 1. / 4}, {"bias of the gradient", *f.BiasGradient, 1. / 4}, {"variance", *f.Variance, 6.25 / 4},
	} {
		if !near(c.got, c.want) {
			t.Errorf("%s is %v, want %v", c.name, c.got, c.want)
		}
	}
	if f.Masked != nil || f.Placebo != nil || f.NotTried != "" || !strings.HasPrefix(f.Recipe, "correction: {mode: decoupled, weights: {name: token_tis, cap: 2") {
		t.Errorf("%+v", f)
	}
	if i := f.TokensChangedInterval; i[0] != .5 || i[1] != .5 {
		t.Errorf("every draw changes a half, and the interval is %v", i)
	}
	if i := f.DistanceInterval; !near(i[0], 0) || !near(i[1], .5) {
		t.Errorf("draws of one response twice have distance 0 and 1/2, and the interval is %v", i)
	}
}

// Rules on sequences are judged by the product of a response's ratios, 3 and 1/2: exact
// importance weights of sequences are at distance 0 from it, a cap of 2 at (1 + 1 + 0 + 0)/4, and of
// tokens' exact weights nothing is said but that they are the tokens'.
func TestSequenceRulesAreJudgedByTheProduct(t *testing.T) {
	trial := newTrial(twoResponses())
	for _, c := range []struct {
		p     *correction.Pipeline
		ratio Ratio
		want  float64
	}{
		{weighted(&correction.SequenceTIS{Cap: math.Inf(1)}), SequenceRatio, 0},
		{weighted(&correction.SequenceTIS{Cap: 2}), SequenceRatio, .5},
		{weighted(nil, &correction.SequenceMask{Low: 0.8, High: 4}), SequenceRatio, (2 + 2 + .5 + .5) / 4},
		{weighted(&correction.TokenTIS{Cap: math.Inf(1)}), TokenRatio, 0},
		{weighted(&correction.TokenTIS{Cap: math.Inf(1)}, &correction.SequenceMask{Low: 0.8, High: 4}), TokenRatio, 1.5 / 4},
		{weighted(nil), TokenRatio, (2 + .5) / 4},
	} {
		f := trial.try("x", "preset", c.p, nil)
		if f.Ratio != c.ratio || !near(f.Distance, c.want) {
			t.Errorf("%s: distance %v from the %s, want %v from the %s", f.Recipe, f.Distance, f.Ratio, c.want, c.ratio)
		}
	}
}

// A mask that keeps 0.8 to 2 drops the second token of the first response and the first of the second.
func TestMaskedByHand(t *testing.T) {
	f := newTrial(twoResponses()).try("token_mask", "mask", &correction.Pipeline{Masks: []correction.Masking{&correction.TokenMask{Low: 0.8, High: 2}}}, nil)
	m := f.Masked
	if m == nil || m.Tokens != .5 || m.Responses != 0 || *m.Negative != .5 || *m.Positive != .5 {
		t.Fatalf("%+v", m)
	}
	if want := []EnvShare{{"a", .5}, {"b", .5}}; !slices.Equal(m.Env, want) {
		t.Errorf("%v", m.Env)
	}
	// A whole response, and the shorter one of two.
	rows := twoResponses()
	rows[0].roll, rows[0].old, rows[0].advantage = append(rows[0].roll, -1), append(rows[0].old, -1), append(rows[0].advantage, 1)
	f = newTrial(rows).try("geometric", "mask", &correction.Pipeline{Masks: []correction.Masking{&correction.Geometric{Low: 0.8, High: 2}}}, nil)
	if m = f.Masked; m.Tokens != .4 || m.Responses != .5 || m.Length[0] != 1 || m.Length[2] != 0 || *m.Negative != 1 || *m.Positive != 0 {
		t.Errorf("%+v", m)
	}
	if f.ResponsesChanged != .5 || f.ESSSequence != .5 {
		t.Errorf("%+v", f.Effect)
	}
}

// Everything that is registered is tried, in a fixed order, with the same bits each time;
// what needs a column that no dump has says so, and a placebo drops as many tokens as its mask.
func TestFixes(t *testing.T) {
	rows := rowsOf(3, 0.4, 60, 60)
	for i, r := range rows {
		for range r.Mask {
			r.Advantage = append(r.Advantage, float64(i%3-1))
		}
	}
	r := analysed(Options{}, rows).Report()
	if r.Verdict.State != Genuine {
		t.Fatalf("%+v", r.Verdict)
	}
	if want := len(correction.Weightings) + len(correction.Masks) - 1 + len(correction.Presets); len(r.Fixes) != want {
		t.Fatalf("%d fixes, want %d", len(r.Fixes), want)
	}
	untried := ""
	masks := 0
	for _, f := range r.Fixes {
		if f.NotTried != "" {
			untried += f.Name + ": " + f.NotTried + "\n"
			if f.Effect != nil || f.Masked != nil {
				t.Errorf("%s was not tried and has figures", f.Name)
			}
			continue
		}
		if (f.Masked == nil) != (f.Placebo == nil) {
			t.Errorf("%s: masked %v, placebo %v", f.Name, f.Masked, f.Placebo)
		}
		if f.Masked != nil {
			masks++
			if n := 3600 * f.Masked.Tokens; math.Abs(f.Placebo.WeightRemoved*3600-n) > 5*math.Sqrt(n*(1-f.Masked.Tokens))+1 {
				t.Errorf("%s drops %v, its placebo %v", f.Name, f.Masked.Tokens, f.Placebo.WeightRemoved)
			}
		}
		if i := f.DistanceInterval; !(i[0] <= f.Distance && f.Distance <= i[1]) {
			t.Errorf("%s: distance %v outside %v", f.Name, f.Distance, i)
		}
	}
	if want := "estr: the dump has no full distributions\nlast_version: the dump has no versions of the weights\n" +
		"truncated: the dump has no finish reason\ntrm: the dump has no full distributions\nfailure_tokens: the dump has no entropies\n"; untried != want {
		t.Errorf("not tried:\n%swant:\n%s", untried, want)
	}
	if masks < 10 {
		t.Errorf("only %d corrections mask anything", masks)
	}
	a, _ := json.Marshal(r)
	b, _ := json.Marshal(analysed(Options{}, rows).Report())
	if string(a) != string(b) {
		t.Error("the same dump gives other bytes")
	}
	// Without advantages a rule that asks for them is not tried, and nothing is said of gradients.
	for _, r := range rows {
		r.Advantage = nil
	}
	for _, f := range analysed(Options{}, rows).Report().Fixes {
		if f.Name == "opsm" && f.NotTried != "the dump has no advantages" || f.Effect != nil && (f.Variance != nil || f.BiasGradient != nil) {
			t.Errorf("%s: %q %+v", f.Name, f.NotTried, f.Effect)
		}
	}
}

// Where the training forward is recorded, OPSM sees it.
func TestFixesUseTheTrainingForward(t *testing.T) {
	rows := rowsOf(3, 0.4, 60, 60)
	for _, r := range rows {
		for i := range r.Mask {
			r.Advantage, r.New = append(r.Advantage, -1), append(r.New, r.Roll[i]-0.6)
		}
	}
	for _, f := range analysed(Options{}, rows).Report().Fixes {
		if f.Name == "opsm" && (f.Masked == nil || f.Masked.Tokens != 1) {
			t.Errorf("%+v", f)
		}
	}
}

// No correction is tried on data that must be repaired.
func TestNoFixesBeforeRepair(t *testing.T) {
	rows := rowsOf(3, 0.03, 60, 60)
	for _, r := range rows {
		r.Roll = moved(r.Roll, 1)
	}
	if r := analysed(Options{}, rows).Report(); r.Verdict.State != Repair || r.Fixes != nil {
		t.Errorf("%s, %d fixes", r.Verdict.State, len(r.Fixes))
	}
	if r := analysed(Options{}, []*reader.Row{}).Report(); r.Verdict.State != Unusable || r.Fixes != nil {
		t.Errorf("%+v", r.Verdict)
	}
}
