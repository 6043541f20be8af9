package reward

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
)

func TestExact(t *testing.T) {
	b, verdicts := scored(t, []string{right, slipped, guess, miss, cut})
	near(t, "the worked example and the rest", part(t, method.New[Exact](), b, verdicts), []float64{1, 0, 1, 0, 0})
}

func TestFormat(t *testing.T) {
	b, verdicts := scored(t, []string{slipped, guess, right, cut})
	near(t, "the worked example and the rest", part(t, method.New[Format](), b, verdicts), []float64{0.1, 0, 0.1, 0})
}

func TestPassAtKExample(t *testing.T) {
	b, verdicts := lengths(t, [][]int{{1, 1, 1, 1}}, [][]bool{{false, true, false, false}})
	near(t, "k = 2, n = 4, c = 1", part(t, &PassAtK{K: 2}, b, verdicts), []float64{2.0 / 3, 2, 2.0 / 3, 2.0 / 3})
	near(t, "k = 1 is exact", part(t, &PassAtK{K: 1}, b, verdicts), []float64{0, 1, 0, 0})
	for step, want := range map[int][]float64{4: {2.0 / 3, 2, 2.0 / 3, 2.0 / 3}, 5: {0, 1, 0, 0}} {
		b.Step = step
		near(t, "k = 2 until step 5", part(t, &PassAtK{K: 2, Until: 5}, b, verdicts), want)
	}
	err := NewScorer(&PassAtK{K: 5}).Score(b, verdicts)
	if err == nil || !strings.Contains(err.Error(), "group 0 has 4") {
		t.Errorf("a group of 4 for k = 5: %v", err)
	}
}

// outcomeGradient is the expected policy gradient of a group of n responses that are
// correct with probability p, by enumeration of every outcome.
func outcomeGradient(t *testing.T, s Shaper, n int, p float64) float64 {
	gradient := 0.0
	for outcome := range 1 << n {
		correct, long := make([]bool, n), make([]int, n)
		chance := 1.0
		for i := range correct {
			long[i], correct[i] = 1, outcome>>i&1 == 1
			if correct[i] {
				chance *= p
			} else {
				chance *= 1 - p
			}
		}
		b, verdicts := lengths(t, [][]int{long}, [][]bool{correct})
		for i, r := range part(t, s, b, verdicts) {
			score := 1 / p // d log P(outcome of i)/dp
			if !correct[i] {
				score = -1 / (1 - p)
			}
			gradient += chance * r * score / float64(n)
		}
	}
	return gradient
}

// TestPassAtKIsUnbiased: the expected policy gradient is the gradient of 1-(1-p)^k, exactly.
func TestPassAtKIsUnbiased(t *testing.T) {
	const n = 5
	for k := 1; k <= n; k++ {
		for _, p := range []float64{0.05, 0.3, 0.9} {
			want := float64(k) * math.Pow(1-p, float64(k-1))
			if got := outcomeGradient(t, &PassAtK{K: k}, n, p); math.Abs(got-want) > 1e-12 {
				t.Errorf("k = %d, p = %v: gradient %v, want %v", k, p, got, want)
			}
		}
	}
}

// TestGroupMax: the expected policy gradient of a response is a k-th of that of
// 1-(1-p)^k where the blocks are whole; the last one may be smaller.
func TestGroupMax(t *testing.T) {
	for k := 1; k <= 3; k++ {
		for _, p := range []float64{0.05, 0.3, 0.9} {
			want := math.Pow(1-p, float64(k-1))
			if got := outcomeGradient(t, &GroupMax{K: k}, 2*k, p); math.Abs(got-want) > 1e-12 {
				t.Errorf("k = %d, p = %v: gradient %v, want %v", k, p, got, want)
			}
		}
	}
	b, verdicts := lengths(t, [][]int{{1, 1, 1, 1, 1}, {1, 1}}, [][]bool{{false, true, false, false, true}, {false, false}})
	near(t, "K = 2", part(t, &GroupMax{K: 2}, b, verdicts), []float64{1, 1, 0, 0, 1, 0, 0})
}

func TestTernaryExample(t *testing.T) {
	judge := method.New[Ternary]()
	judge.Noise = 0
	b, verdicts := scored(t, []string{right, hopeless})
	near(t, "labels", part(t, judge, b, verdicts), []float64{1, -1})
	judge.Continuous = true
	near(t, "scores", part(t, judge, b, verdicts), []float64{0.5, -0.5})

	// A wrong answer after two exact steps of three: 0.5*2/3 - 0.5 = -0.1667.
	b, verdicts = scored(t, []string{"c 0 b 0 a 7 # 7 <eos>"})
	near(t, "score in between", part(t, judge, b, verdicts), []float64{-1.0 / 6})
	judge.Continuous = false
	near(t, "label in between", part(t, judge, b, verdicts), []float64{0})
}

// TestTernaryKeepsJitterOut: responses of equal quality get equal labels, so
// their advantages are zero, while the continuous score differs between them by
// noise alone.
func TestTernaryKeepsJitterOut(t *testing.T) {
	b, verdicts := scored(t, []string{right, right, right, right, right, right, right, right})
	apart := func(judge *Ternary) int {
		n := 0
		for version := range 200 {
			b.LearnerVersion = version
			r := part(t, judge, b, verdicts)
			for i := range r {
				if r[i] != r[0] {
					n++
				}
			}
		}
		return n
	}
	// 200 versions x 7 comparisons; a label slips at 2.5 standard deviations,
	// with probability 0.0062, and then differs from all or from most.
	labels, scores := apart(method.New[Ternary]()), apart(&Ternary{Noise: 0.1, Steps: 0.5, Reference: 0.5, Continuous: true})
	if labels > 50 || scores != 1400 {
		t.Errorf("%d labels and %d scores of 1400 differ from their group's first", labels, scores)
	}
}

// TestTernaryNoise: the impression has the declared mean and spread, is the
// same for the same judgement, and another one for the next version.
func TestTernaryNoise(t *testing.T) {
	b, verdicts := scored(t, []string{right, right})
	judge := &Ternary{Noise: 0.2, Steps: 0.5, Reference: 0.5, Continuous: true}
	const n = 10000
	sum, squares := 0.0, 0.0
	for version := range n {
		b.LearnerVersion = version
		x := part(t, judge, b, verdicts)
		again := part(t, judge, b, verdicts)
		if x[0] != again[0] || x[1] != again[1] || x[0] == x[1] {
			t.Fatalf("impressions %v, then %v", x, again)
		}
		sum += x[0]
		squares += (x[0] - 0.5) * (x[0] - 0.5)
	}
	mean, spread := sum/n, math.Sqrt(squares/n)
	if math.Abs(mean-0.5) > 4*0.2/math.Sqrt(n) || math.Abs(spread-0.2) > 4*0.2/math.Sqrt(2*n) {
		t.Errorf("mean %v, spread %v; want 0.5 and 0.2", mean, spread)
	}
}

func TestNormalIsFinite(t *testing.T) {
	src := rand.NewPCG(0, 0)
	for range 100000 {
		if x := normal(src); math.IsNaN(x) || math.Abs(x) > 9 {
			t.Fatalf("drew %v", x)
		}
	}
}

func TestProcessExample(t *testing.T) {
	b, verdicts := scored(t, []string{slipped})
	near(t, "sum", part(t, method.New[Process](), b, verdicts), []float64{0.03})
	placed := make([]float64, b.Tokens())
	must(t, method.New[Process]().Place(placed, b, verdicts))
	near(t, "per token", placed, []float64{0, 0.03, 0, -0.03, 0, 0.03, 0, 0, 0})
	exact := method.New[Process]()
	exact.Label = labelExact
	near(t, "by exactness", part(t, exact, b, verdicts), []float64{-0.03})
}

// TestProcessSkipsTheEnvironment: a score on a token the policy did
// not write goes to the generated token before it, or nowhere.
func TestProcessSkipsTheEnvironment(t *testing.T) {
	b, verdicts := scored(t, []string{right})
	b.Mask[0], b.Mask[1], b.Mask[3] = false, false, false
	placed := make([]float64, b.Tokens())
	must(t, method.New[Process]().Place(placed, b, verdicts))
	near(t, "per token", placed, []float64{0, 0, 0.03, 0, 0, 0.03, 0, 0, 0})
}

func TestProcessPlacebos(t *testing.T) {
	b, verdicts := scored(t, []string{slipped, slipped, slipped, slipped})
	shuffled, random := method.New[Process](), method.New[Process]()
	shuffled.Placebo, random.Placebo = placeboShuffled, placeboRandom
	at := make([]float64, 9) // how often each place of a response carries the one bad step
	sum := 0.0
	const n = 2000
	for version := range n {
		b.LearnerVersion = version
		near(t, "shuffling keeps the sum", part(t, shuffled, b, verdicts), []float64{0.03, 0.03, 0.03, 0.03})
		placed := make([]float64, b.Tokens())
		must(t, shuffled.Place(placed, b, verdicts))
		for i, score := range placed {
			if score < 0 {
				at[i%9]++
			}
		}
		first := part(t, random, b, verdicts)
		near(t, "random is repeatable", part(t, random, b, verdicts), first)
		for _, score := range first {
			sum += score / 0.03
		}
	}
	for i, count := range at {
		want := 0.0
		if i == 1 || i == 3 || i == 5 {
			want = 4 * n / 3.0
		}
		if math.Abs(count-want) > 4*math.Sqrt(4*n*2/9.0) {
			t.Errorf("place %d carries the bad step %v times, want about %v", i, count, want)
		}
	}
	// 3 coins in each of 4n responses: the sum has variance 12n.
	if math.Abs(sum) > 4*math.Sqrt(12*n) {
		t.Errorf("random scores sum to %v", sum)
	}
}

// TestProcessSumsMatch: Place puts exactly what Part announces, for every
// label and placebo.
func TestProcessSumsMatch(t *testing.T) {
	b, verdicts := scored(t, []string{right, slipped, hopeless, guess, cut, miss})
	for _, label := range []string{labelValid, labelExact} {
		for _, placebo := range []string{placeboNone, placeboShuffled, placeboRandom} {
			p := &Process{Coef: 0.25, Label: label, Placebo: placebo}
			placed := make([]float64, b.Tokens())
			must(t, p.Place(placed, b, verdicts))
			sums := make([]float64, b.Len())
			for i := range sums {
				from, to := b.Span(i)
				for _, r := range placed[from:to] {
					sums[i] += r
				}
			}
			near(t, label+" "+placebo, sums, part(t, p, b, verdicts))
		}
	}
}

// The process reward is the one that has places.
var _ Placer = (*Process)(nil)

// TestRepetition compares with sets of n-grams as text; what a tool wrote and the stop token
// do not count.
func TestRepetition(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 0))
	b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0}}}
	var texts [][]int32
	for i := range 40 {
		var text []int32
		for range i {
			token, own := 3+rng.Int32N(3), rng.IntN(5) > 0
			b.Token, b.Mask = append(b.Token, token), append(b.Mask, own)
			if own {
				text = append(text, token)
			}
		}
		b.Token, b.Mask = append(b.Token, task.EOS), append(b.Mask, true)
		b.Offsets, texts = append(b.Offsets, len(b.Token)), append(texts, text)
	}
	for n := 1; n <= 4; n++ {
		got := part(t, &Repetition{Coef: 2, N: n}, b, nil)
		for i, text := range texts {
			seen, total := map[string]bool{}, 0
			for s := range text {
				if s+n <= len(text) {
					seen[fmt.Sprint(text[s:s+n])] = true
					total++
				}
			}
			want := 0.0
			if total > 0 {
				want = -2 * (1 - float64(len(seen))/float64(total))
			}
			if !(math.Abs(got[i]-want) <= 1e-12) { // not a number is none
				t.Errorf("n = %d, %v: %v, want %v", n, text, got[i], want)
			}
		}
	}
}
