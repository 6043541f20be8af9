package reward

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"driftlab/trainer/method"
)

func TestUniform(t *testing.T) {
	b, verdicts := lengths(t, [][]int{{14, 3, 0}}, [][]bool{{true, false, false}})
	near(t, "the worked example", part(t, &Uniform{Coef: 0.01}, b, verdicts), []float64{-0.14, -0.03, 0})
	b.Mask[2] = false // a token of the environment
	near(t, "generated tokens only", part(t, &Uniform{Coef: 0.01}, b, verdicts), []float64{-0.13, -0.03, 0})
}

func TestGroup(t *testing.T) {
	b, verdicts := lengths(t,
		[][]int{{3, 8, 13}, {13, 8, 3}, {5, 5}, {7}},
		[][]bool{all(true, 3), all(false, 3), all(true, 2), all(true, 1)})
	near(t, "the worked example, equal lengths, a group of one", part(t, method.New[Group](), b, verdicts), []float64{
		0.05, 0, -0.05,
		-0.05, 0, 0,
		0, 0,
		0})
}

func TestRelative(t *testing.T) {
	b, verdicts := lengths(t,
		[][]int{{5, 15, 40}, {9, 9}, {4, 8}},
		[][]bool{{true, true, false}, all(true, 2), all(false, 2)})
	// The wrong response of 40 tokens moves neither mean nor standard deviation.
	near(t, "the worked example, equal lengths, none correct", part(t, &Relative{Coef: 0.4, Eps: 1e-9}, b, verdicts), []float64{
		-0.107577, -0.292423, 0,
		-0.2, -0.2,
		0, 0})
}

func TestOverlong(t *testing.T) {
	b, verdicts := lengths(t, [][]int{{1, 48, 49, 56, 64, 80}}, [][]bool{all(true, 6)})
	near(t, "the worked example and around it", part(t, method.New[Overlong](), b, verdicts),
		[]float64{0, 0, -1.0 / 16, -0.5, -1, -1})
	near(t, "coefficient", part(t, &Overlong{MaxLength: 64, Buffer: 16, Coef: 0.5}, b, verdicts),
		[]float64{0, 0, -1.0 / 32, -0.25, -0.5, -0.5})
}

func TestAnchorExample(t *testing.T) {
	a := &Anchor{Coef: 0.1, Solved: 0.9, By: byPrompt}
	b, verdicts := lengths(t, [][]int{{8, 12}}, [][]bool{{true, false}})
	near(t, "not solved yet", part(t, a, b, verdicts), []float64{0, 0})

	b, verdicts = lengths(t, [][]int{{8, 12}}, [][]bool{{true, true}})
	// Solved: the anchor is 10, and counts at once for the response of 12.
	near(t, "first solved", part(t, a, b, verdicts), []float64{0, -0.02})

	b, verdicts = lengths(t, [][]int{{15, 10}}, [][]bool{{true, true}})
	near(t, "the worked example", part(t, a, b, verdicts), []float64{-0.05, 0})

	b, verdicts = lengths(t, [][]int{{2, 2}}, [][]bool{{true, true}})
	near(t, "brevity pays nothing", part(t, a, b, verdicts), []float64{0, 0})

	b, verdicts = lengths(t, [][]int{{15, 20}}, [][]bool{{true, false}})
	near(t, "the anchor stays, also unsolved", part(t, a, b, verdicts), []float64{-0.05, -0.1})
	a.OnlySolved = true
	near(t, "only_solved frees it", part(t, a, b, verdicts), []float64{0, 0})
}

func TestAnchorKeys(t *testing.T) {
	// The groups of lengths have prompts 100, 101 with 10 and 11 tokens.
	first := [][]int{{10}, {20}}
	second := [][]int{{20}, {20}}
	for _, tc := range []struct {
		by   string
		same bool // both groups ask prompts of equal length
		want []float64
	}{
		{byPrompt, false, []float64{-0.1, 0}},
		{byPrompt, true, []float64{-0.1, 0}},
		{byPromptTokens, false, []float64{-0.1, 0}},
		{byPromptTokens, true, []float64{-0.1, -0.1}},
	} {
		a := &Anchor{Coef: 0.1, Solved: 0.9, By: tc.by}
		for step, groups := range [][][]int{first, second} {
			b, verdicts := lengths(t, groups, [][]bool{{true}, {true}})
			if tc.same {
				b.Prompt[1] = b.Prompt[0]
			}
			if got := part(t, a, b, verdicts); step == 1 {
				near(t, tc.by, got, tc.want)
			}
		}
	}
}

// TestAnchorState: a restored Anchor goes on as the first one does, and its
// state is the same bytes every time.
func TestAnchorState(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	a := &Anchor{Coef: 0.1, Solved: 0, By: byPrompt}
	for range 20 {
		b, verdicts := lengths(t, [][]int{{1 + rng.IntN(30), 1 + rng.IntN(30), 1 + rng.IntN(30)}}, [][]bool{all(true, 3)})
		id := rng.Int64N(2)<<52 + rng.Int64N(4)
		b.PromptID = []int64{id, id, id}
		part(t, a, b, verdicts)
	}
	state := a.AppendState(nil)
	restored := &Anchor{Coef: 0.1, Solved: 0, By: byPrompt}
	must(t, restored.SetState(state))
	if again := restored.AppendState(nil); string(again) != string(state) || len(state) < 20 {
		t.Errorf("state %s became %s", state, again)
	}
	for key := range a.anchors {
		b, verdicts := lengths(t, [][]int{{17, 29, 3}}, [][]bool{all(true, 3)})
		b.PromptID = []int64{key, key, key}
		near(t, "after the restoration", part(t, restored, b, verdicts), part(t, a, b, verdicts))
	}
	for _, bad := range []string{"", "{", `{"1":"x"}`, `{"1":-3}`, `{"1":0}`, "[1]"} {
		if err := restored.SetState([]byte(bad)); err == nil || !strings.Contains(err.Error(), "length_anchor state") {
			t.Errorf("state %q: %v", bad, err)
		}
	}
	near(t, "damaged state changes nothing", []float64{float64(len(restored.anchors))}, []float64{float64(len(a.anchors))})
}

// TestLongerNeverPays: none of the penalties rewards length, whatever the
// group looks like: one more token never raises a response's own part.
func TestLongerNeverPays(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for _, e := range Registry {
		switch e.Name {
		case "length_uniform", "length_group", "length_anchor", "length_relative", "overlong":
		default:
			continue
		}
		for range 300 {
			group := make([]int, 2+rng.IntN(6))
			correct := make([]bool, len(group))
			for i := range group {
				group[i], correct[i] = 1+rng.IntN(70), rng.IntN(2) == 0
			}
			longest := 0
			for i := range group {
				if group[i] > group[longest] {
					longest = i
				}
			}
			score := func(group []int) []float64 {
				s := e.New()
				if a, ok := s.(*Anchor); ok {
					a.anchors = map[int64]float64{100: 20}
				}
				b, verdicts := lengths(t, [][]int{group}, [][]bool{correct})
				return part(t, s, b, verdicts)
			}
			before := score(group)
			for i := range before {
				if correct[i] == correct[longest] && before[i] < before[longest]-1e-12 {
					t.Fatalf("%s: lengths %v, correct %v: parts %v", e.Name, group, correct, before)
				}
			}
			group[longest]++
			if after := score(group); after[longest] > before[longest]+1e-12 && e.Name != "length_relative" {
				t.Fatalf("%s: the longest of %v, grown by one, gets %v after %v", e.Name, group, after[longest], before[longest])
			}
		}
	}
}

// TestRelativeKeepsTheOrder: a correct response is always worth more than a
// wrong one, whatever its length.
func TestRelativeKeepsTheOrder(t *testing.T) {
	b, verdicts := lengths(t, [][]int{{1000, 1, 1, 1, 1}}, [][]bool{{true, true, true, true, false}})
	for _, r := range part(t, &Relative{Coef: 0.99, Eps: 1e-6}, b, verdicts)[:4] {
		if 1+r <= 0 || math.IsNaN(r) {
			t.Errorf("a correct response is worth %v", 1+r)
		}
	}
}

func TestStep(t *testing.T) {
	b, verdicts := lengths(t, [][]int{{16, 17, 16, 17}}, [][]bool{{true, true, false, false}})
	near(t, "the worked example", part(t, method.New[Step](), b, verdicts), []float64{0.5, 0, 0, 0})
	near(t, "explore", part(t, &Step{Coef: 0.25, Target: 16, Explore: true}, b, verdicts), []float64{0.25, 0, 0, 0.25})
}

// TestRamp: every penalty on length begins late and rises slowly if its ramp says so.
func TestRamp(t *testing.T) {
	ramp := Ramp{From: 10, Warmup: 3}
	b, verdicts := lengths(t, [][]int{{20, 60}}, [][]bool{{true, true}})
	for _, s := range []Shaper{&Uniform{ramp, 0.01}, &Group{Ramp: ramp, Coef: 0.1}, &Relative{Ramp: ramp, Coef: 0.2, Eps: 1e-6},
		&Step{Ramp: ramp, Coef: 0.5, Target: 30}, &Anchor{Ramp: ramp, Coef: 0.1, Solved: 0.9, By: byPrompt}, &Overlong{Ramp: ramp, MaxLength: 64, Buffer: 16, Coef: 1}} {
		b.Step = 13
		full := part(t, s, b, verdicts)
		if full[0] == full[1] {
			t.Fatalf("%T does nothing: %v", s, full)
		}
		for step, share := range map[int]float64{0: 0, 9: 0, 10: 0.25, 11: 0.5, 12: 0.75, 13: 1, 99: 1} {
			b.Step = step
			near(t, "ramp", part(t, s, b, verdicts), []float64{share * full[0], share * full[1]})
		}
	}
}
