package reward

import (
	"math"
	"slices"
	"strings"
	"testing"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
)

// right, wrong and their kin are responses to the prompt of scored: the values
// are 7+3=0, 0*4=0, 0-2=8 (mod 10). The comment gives tokens and steps.
const (
	prompt   = "<bos> c + 3 b * 4 a - 2 : 7"
	right    = "c 0 b 0 a 8 # 8 <eos>" // 9 tokens, 3 exact steps
	slipped  = "c 0 b 1 a 9 # 9 <eos>" // 9 tokens, step b not valid, b and a not exact
	hopeless = "c 1 b 1 a 1 # 1 <eos>" // 9 tokens, no step exact, none valid
	guess    = "# 8 <eos>"             // 3 tokens, right without working
	miss     = "# 1 <eos>"             // 3 tokens, wrong without working
	cut      = "c 0 b 0 a 8 #"         // 7 tokens, never finished
)

// scored returns a batch of groups of responses to the prompt, all tokens
// generated, and the verifier's verdicts.
func scored(t *testing.T, groups ...[]string) (*batch.Batch, []task.Verdict) {
	t.Helper()
	chain := task.NewChain()
	p := task.Prompt{Tokens: parse(t, prompt), Answer: parse(t, "8")}
	b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0}}}
	var verdicts []task.Verdict
	for g, responses := range groups {
		for _, text := range responses {
			tokens := parse(t, text)
			b.Token = append(b.Token, tokens...)
			b.Offsets = append(b.Offsets, len(b.Token))
			b.Group = append(b.Group, g)
			b.Prompt = append(b.Prompt, p.Tokens)
			b.PromptID = append(b.PromptID, int64(100+g))
			verdicts = append(verdicts, chain.Verify(p, tokens))
			ended(b, text != cut, verdicts[len(verdicts)-1].Correct)
		}
	}
	b.Mask = slices.Repeat([]bool{true}, len(b.Token))
	value(b)
	return b, verdicts
}

// ended appends how a response ended, and the reward that the parts before the tested one gave.
func ended(b *batch.Batch, finished, correct bool) {
	r := 0.0
	if correct {
		r = 1
	}
	b.Finished, b.Reward = append(b.Finished, finished), append(b.Reward, r)
}

// value gives every response episodes of two tokens, each worth more than the last.
func value(b *batch.Batch) {
	for i := range b.Len() {
		from, to := b.Span(i)
		for n := range to - from {
			b.Episode, b.PrefixValue = append(b.Episode, int32(n/2)), append(b.PrefixValue, float64(n/2)/16)
		}
	}
}

func parse(t *testing.T, text string) []int32 {
	t.Helper()
	tokens, err := task.Parse(task.NewChain().Vocab(), text)
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

// lengths returns a batch of groups with responses of these lengths, and
// verdicts that call those in the groups' masks correct.
func lengths(t *testing.T, groups [][]int, correct [][]bool) (*batch.Batch, []task.Verdict) {
	t.Helper()
	b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0}}}
	var verdicts []task.Verdict
	for g := range groups {
		for i, n := range groups[g] {
			b.Offsets = append(b.Offsets, b.Offsets[len(b.Offsets)-1]+n)
			b.Group = append(b.Group, g)
			b.Prompt = append(b.Prompt, make([]int32, 10+g))
			b.PromptID = append(b.PromptID, int64(100+g))
			verdicts = append(verdicts, task.Verdict{Correct: correct[g][i]})
			ended(b, correct[g][i], correct[g][i])
		}
	}
	b.Token = slices.Repeat([]int32{task.EOS + 1}, b.Tokens())
	b.Mask = slices.Repeat([]bool{true}, b.Tokens())
	value(b)
	return b, verdicts
}

// all returns n times the same label.
func all(label bool, n int) []bool { return slices.Repeat([]bool{label}, n) }

// part runs one shaper.
func part(t *testing.T, s Shaper, b *batch.Batch, verdicts []task.Verdict) []float64 {
	t.Helper()
	dst := slices.Repeat([]float64{math.NaN()}, b.Len()) // Part must write every entry
	must(t, s.Part(dst, b, verdicts))
	return dst
}

// near compares with a tolerance of 1e-6, the precision of the worked examples.
func near(t *testing.T, name string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %v, want %v", name, got, want)
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= 1e-6) {
			t.Errorf("%s: got %v, want %v", name, got, want)
			return
		}
	}
}

func TestScorerAddsUp(t *testing.T) {
	b, verdicts := scored(t, []string{right, slipped, guess, cut})
	b.TokenReward = make([]float64, 3) // left by an earlier step
	s := NewScorer(method.New[Exact](), &Uniform{Coef: 0.01}, &Format{Coef: 0.5})
	must(t, s.Score(b, verdicts))
	if !slices.Equal(b.Correct, []bool{true, false, true, false}) {
		t.Errorf("correct: %v", b.Correct)
	}
	near(t, "reward", b.Reward, []float64{1 - 0.09 + 0.5, -0.09 + 0.5, 1 - 0.03, -0.07})
	near(t, "parts of the first", b.RewardParts[0], []float64{1, -0.09, 0.5})
	near(t, "parts of the last", b.RewardParts[3], []float64{0, -0.07, 0})
	if b.TokenReward != nil {
		t.Errorf("no part has a place, yet TokenReward is %v", b.TokenReward)
	}
}

func TestScorerPlacesParts(t *testing.T) {
	b, verdicts := scored(t, []string{right, slipped}, []string{miss})
	s := NewScorer(method.New[Exact](), &Process{Coef: 0.1, Label: labelValid, Placebo: placeboNone})
	for range 2 { // the second call works in used memory
		must(t, s.Score(b, verdicts))
		near(t, "tokens", b.TokenReward, []float64{
			0, 0.1, 0, 0.1, 0, 0.1, 0, 0, 1,
			0, 0.1, 0, -0.1, 0, 0.1, 0, 0, 0,
			0, 0, 0})
		near(t, "reward", b.Reward, []float64{1.3, 0.1, 0})
		near(t, "steps", b.StepReward, []float64{
			0, 0.1, 0, 0.1, 0, 0.1, 0, 0, 0,
			0, 0.1, 0, -0.1, 0, 0.1, 0, 0, 0,
			0, 0, 0})
		for i, want := range []float64{1, 0, 0} {
			near(t, "outcome", b.OutcomeParts[i], []float64{want})
		}
	}
}

func TestScorerDefaultIsExact(t *testing.T) {
	b, verdicts := scored(t, []string{right, miss})
	must(t, NewScorer().Score(b, verdicts))
	near(t, "reward", b.Reward, []float64{1, 0})
}

func TestScorerErrors(t *testing.T) {
	b, verdicts := scored(t, []string{right, miss})
	if err := NewScorer().Score(b, verdicts[:1]); err == nil || !strings.Contains(err.Error(), "1 verdicts for 2 responses") {
		t.Errorf("too few verdicts: %v", err)
	}
	b.Mask = nil
	if err := NewScorer().Score(b, verdicts); err == nil || !strings.Contains(err.Error(), "Mask") {
		t.Errorf("no mask: %v", err)
	}
	for _, e := range Registry {
		for _, column := range e.Needs {
			b, verdicts := scored(t, []string{right, miss, right, miss})
			b.Forget(column)
			if err := NewScorer(e.New()).Score(b, verdicts); err == nil {
				t.Errorf("%s works without %s", e.Name, column)
			}
		}
	}
}

func TestScorerDoesNotAllocate(t *testing.T) {
	b, verdicts := scored(t, []string{right, slipped, guess, cut}, []string{right, right, right, right})
	for _, e := range Registry {
		s := NewScorer(method.New[Exact](), e.New())
		if n := testing.AllocsPerRun(50, func() {
			must(t, s.Score(b, verdicts))
		}); n != 0 {
			t.Errorf("%s: %v allocations per batch", e.Name, n)
		}
	}
}

// TestEmptyResponses: a response without any token is scored, not a fault.
func TestEmptyResponses(t *testing.T) {
	for _, e := range Registry {
		b, verdicts := lengths(t, [][]int{{0, 0, 3, 0}}, [][]bool{all(false, 4)})
		s := NewScorer(e.New())
		if err := s.Score(b, verdicts); err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
		for _, r := range b.Reward {
			if math.IsNaN(r) || math.IsInf(r, 0) {
				t.Errorf("%s: rewards %v", e.Name, b.Reward)
			}
		}
	}
}

// must stops the test at an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
