package task

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"driftlab/trainer/method"
)

// TestNoise compares the pass rate of noisy demonstrations with the exact one,
// worked out prompt by prompt: the distribution of what is written, propagated
// through the working.
func TestNoise(t *testing.T) {
	const n = 20000
	for _, tc := range []struct {
		name     string
		task     Task
		exact    func(t *testing.T, p Prompt) float64
		low, top float64 // where the default's overall pass rate must lie
	}{
		{"chain", NewChain(), func(t *testing.T, p Prompt) float64 { return chainPassRate(t, p, 0.15) }, 0.4, 0.6},
		{"chain direct", &Chain{Difficulty: Range{3, 8}, Noise: 0.15, Direct: 1},
			func(*testing.T, Prompt) float64 { return 1 - 0.15 + 0.15/10 }, 0, 1},
		{"filler", NewFiller(), func(t *testing.T, p Prompt) float64 { return chainPassRate(t, p, 0.15) }, 0.4, 0.6},
		{"addition", NewAddition(), func(t *testing.T, p Prompt) float64 { return additionPassRate(t, p, 0.15) }, 0.4, 0.7},
		{"search", NewSearch(), func(t *testing.T, p Prompt) float64 { return searchPassRate(t, p, NewSearch()) }, 0.4, 0.6},
		{"lookup", NewLookup(), func(t *testing.T, p Prompt) float64 { return lookupPassRate(t, p, NewLookup()) }, 0.4, 0.6},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			var want, variance float64
			passed := 0
			var demo []int32
			for range n {
				p := Draw(tc.task, rng)
				rate := tc.exact(t, p)
				want += rate
				variance += rate * (1 - rate)
				demo = tc.task.Demonstration(demo[:0], p, rng)
				v := tc.task.Verify(p, demo)
				if !v.Format {
					t.Fatalf("demonstration without the form: %s", Text(tc.task.Vocab(), demo))
				}
				if v.Correct {
					passed++
				}
			}
			if diff := math.Abs(float64(passed) - want); diff > 4*math.Sqrt(variance) {
				t.Errorf("%d of %d correct, expected %.0f +- %.0f", passed, n, want, math.Sqrt(variance))
			}
			if rate := want / n; rate < tc.low || rate > tc.top {
				t.Errorf("pass rate of the default demonstrations is %.3f, want %.1f to %.1f", rate, tc.low, tc.top)
			}
		})
	}
}

// passDistribution is the distribution of the value that a noisy pass through a program ends with.
func passDistribution(g *program, start int, q float64) [10]float64 {
	var at [10]float64
	at[start] = 1
	for _, o := range g.ops[:g.n] {
		var next [10]float64
		for v, mass := range at {
			next[o.apply(v)] += (1 - q) * mass
			for u := range next {
				next[u] += q / 10 * mass
			}
		}
		at = next
	}
	return at
}

// chainPassRate is the chance that a noisy pass ends with the answer.
func chainPassRate(t *testing.T, p Prompt, q float64) float64 {
	t.Helper()
	g, start, ok := parsePrompt(p.Tokens, colon, 1)
	if !ok {
		t.Fatalf("not a chain prompt: %s", Text(sharedVocab, p.Tokens))
	}
	right, _ := digitOf(p.Answer[0])
	return passDistribution(&g, start, q)[right]
}

// lookupPassRate is the chance that a pass ends with the answer in which a hidden
// operand's value is a guess with probability l.Guess, and noisy else.
func lookupPassRate(t *testing.T, p Prompt, l *Lookup) float64 {
	t.Helper()
	g, start, ok := parseLookup(p.Tokens)
	if !ok {
		t.Fatalf("not a lookup prompt: %s", Text(lookupVocab, p.Tokens))
	}
	var at [10]float64
	at[start] = 1
	for i, o := range g.ops[:g.n] {
		random := l.Noise
		if p.Tokens[3*i+3] == hidden {
			random = l.Guess + (1-l.Guess)*l.Noise
		}
		var next [10]float64
		for v, mass := range at {
			next[o.apply(v)] += (1 - random) * mass
			for u := range next {
				next[u] += random / 10 * mass
			}
		}
		at = next
	}
	right, _ := digitOf(p.Answer[0])
	return at[right]
}

// additionPassRate is the chance that all units and the last carry come out
// right, where a column's sum is uniform on 0..19 with probability q.
func additionPassRate(t *testing.T, p Prompt, q float64) float64 {
	t.Helper()
	c, ok := parseColumns(p.Tokens)
	if !ok {
		t.Fatalf("not an addition prompt: %s", Text(sharedVocab, p.Tokens))
	}
	at := [2]float64{1, 0} // by the carry written, all units right so far
	exact := 0
	for i := range c.n {
		column := c.x[i] + c.y[i]
		right := column + exact
		var next [2]float64
		for carry, mass := range at {
			for sum := range 20 {
				chance := q / 20
				if sum == column+carry {
					chance += 1 - q
				}
				if sum%10 == right%10 {
					next[sum/10] += mass * chance
				}
			}
		}
		at, exact = next, right/10
	}
	return at[exact]
}

// searchPassRate follows a demonstration candidate by candidate.
func searchPassRate(t *testing.T, p Prompt, s *Search) float64 {
	t.Helper()
	g, _, ok := parsePrompt(p.Tokens, equals, 1)
	if !ok {
		t.Fatalf("not a search prompt: %s", Text(sharedVocab, p.Tokens))
	}
	root, _ := digitOf(p.Answer[0])
	still, pass := 1.0, 0.0 // still: the chance of being at candidate x, not having answered
	for x := range 10 {
		if root >= x { // gives up here and guesses one of the rest
			pass += still * (1 - s.Patience) / float64(10-x)
		}
		hit := passDistribution(&g, x, s.Noise)[0]
		if x == root {
			pass += still * s.Patience * hit
		}
		still *= s.Patience * (1 - hit)
	}
	return pass + still/10
}

// TestLengthPays runs a scripted searcher that always tries k candidates, or
// fewer if it finds the root. Without slips its chance is (k+1)/10, and with
// slips it still rises with every candidate.
func TestLengthPays(t *testing.T) {
	const n = 4000
	for _, noise := range []float64{0, 0.05} {
		s := NewSearch()
		rng := seeded(20)
		previous, previousLength := -1.0, 0.0
		for k := range 10 {
			passed, length := 0, 0
			for range n {
				p := Draw(s, rng)
				response := scriptedSearch(p, k, noise, rng)
				v := s.Verify(p, response)
				if !v.Format {
					t.Fatalf("scripted response without the form: %s", Text(s.Vocab(), response))
				}
				if v.Correct {
					passed++
				}
				length += len(response)
			}
			rate, mean := float64(passed)/n, float64(length)/n
			want := float64(k+1) / 10
			if noise == 0 && math.Abs(rate-want) > 4*math.Sqrt(want*(1-want)/n) {
				t.Errorf("%d candidates: right %.3f of the time, want %.1f", k, rate, want)
			}
			if rate <= previous || mean <= previousLength {
				t.Errorf("noise %v: %d candidates, %.1f tokens, right %.3f; one candidate fewer: %.1f tokens, %.3f",
					noise, k, mean, rate, previousLength, previous)
			}
			previous, previousLength = rate, mean
		}
		if previous < 0.75 {
			t.Errorf("noise %v: nine candidates are right only %.3f of the time", noise, previous)
		}
	}
}

// TestRecheckWastes: looking again costs tokens where the first candidate is the root,
// and is no loss where many have been tried.
func TestRecheckWastes(t *testing.T) {
	const n = 20000
	rates := func(root int, recheck float64) (rate, length float64) {
		s := &Search{Difficulty: Range{root + 1, root + 1}, Operations: 2, Noise: 0.05, Patience: 1, Recheck: recheck}
		rng := seeded(uint64(30 + root))
		for range n {
			p := Draw(s, rng)
			demo := s.Demonstration(nil, p, rng)
			v := s.Verify(p, demo)
			if !v.Format || len(demo) > s.MaxResponse() {
				t.Fatalf("%s: form %v", Text(s.Vocab(), demo), v.Format)
			}
			if v.Correct {
				rate += 1. / n
			}
			length += float64(len(demo)) / n
		}
		return rate, length
	}
	for _, root := range []int{0, 9} {
		once, short := rates(root, 0)
		again, long := rates(root, 0.5)
		if long < short+3 {
			t.Errorf("root %d: %.1f tokens with rechecks, %.1f without", root, long, short)
		}
		if root == 0 && again > once {
			t.Errorf("root 0: right %.3f of the time with rechecks, %.3f without", again, once)
		}
		if root == 9 && again < once-0.04 {
			t.Errorf("root 9: right %.3f of the time with rechecks, %.3f without", again, once)
		}
	}
}

// TestPairs: with a hundred candidates the length of a faultless search is the length of the candidates up to the root, and the three
// starts of the study of length differ by their demonstrations.
func TestPairs(t *testing.T) {
	const n, candidate, end = 2000, 11, 4
	for _, c := range []struct {
		name         string
		task         Search
		rate, length float64 // of demonstrations; 0 for those that follow from the difficulty
	}{
		{"faultless", Search{Difficulty: Range{1, 100}, Patience: 1}, 1, 0},
		{"hard", Search{Difficulty: Range{90, 100}, Patience: 1}, 1, 0},
		{"impatient", Search{Difficulty: Range{1, 100}, Noise: 0.01, Patience: 0.9}, 0.095, 95},
		{"patient", Search{Difficulty: Range{1, 100}, Noise: 0.01, Patience: 0.98}, 0.41, 320},
		{"verbose", Search{Difficulty: Range{1, 100}, Noise: 0.01, Patience: 0.98, Overlook: 0.9}, 0.05, 450},
	} {
		s := &c.task
		s.Pairs, s.Operations = true, 4
		rng := seeded(50)
		rate, length, needed := 0.0, 0.0, 0.0
		for range n {
			p := Draw(s, rng)
			demo := s.Demonstration(nil, p, rng)
			v := s.Verify(p, demo)
			if !v.Format || len(demo) > s.MaxResponse() || len(p.Tokens) != s.MaxPrompt() || !reflect.DeepEqual(p, s.Reproduce(p.ID)) {
				t.Fatalf("%s: %s: %s", c.name, Text(s.Vocab(), p.Tokens), Text(s.Vocab(), demo))
			}
			if v.Correct {
				rate++
			}
			length += float64(len(demo))
			needed += float64(candidate*p.Difficulty + end)
		}
		if c.length == 0 && length != needed || c.length > 0 && math.Abs(length/n/c.length-1) > 0.05 || math.Abs(rate/n-c.rate) > 0.03 {
			t.Errorf("%s: right %.3f of the time with %.1f tokens, want %.3f with %.1f", c.name, rate/n, length/n, c.rate, max(c.length, needed/n))
		}
	}
	if err := method.Check(&Search{Difficulty: Range{1, 11}, Operations: 2}); err == nil || !strings.Contains(err.Error(), "pairs") {
		t.Errorf("eleven candidates of ten: %v", err)
	}
}

// scriptedSearch tries up to k candidates in order, then guesses among the rest.
func scriptedSearch(p Prompt, k int, noise float64, rng *rand.Rand) []int32 {
	g, _, _ := parsePrompt(p.Tokens, equals, 1)
	var r []int32
	for x := range k {
		r = append(r, try, digit(x))
		value := x
		for i, o := range g.ops[:g.n] {
			value = noisy(o.apply(value), noise, rng)
			r = append(r, marker(i, g.n), digit(value))
		}
		if value == 0 {
			return append(r, answerMark, digit(x), EOS)
		}
	}
	return append(r, answerMark, digit(k+rng.IntN(10-k)), EOS)
}

// TestChainWorkingPays: of the two styles of a mixed chain, the direct answer
// of a policy that cannot follow the chain is right one time in ten, however
// long the program; the worked one is right unless a step slips.
func TestChainWorkingPays(t *testing.T) {
	const n = 4000
	c := NewChain()
	rng := seeded(21)
	direct, worked := 0, 0
	for range n {
		p := Draw(c, rng)
		if c.Verify(p, []int32{answerMark, digit(rng.IntN(10)), EOS}).Correct {
			direct++
		}
		if c.Verify(p, c.Demonstration(nil, p, rng)).Correct {
			worked++
		}
	}
	if sd := math.Sqrt(n * 0.1 * 0.9); math.Abs(float64(direct)-n*0.1) > 4*sd || worked < 4*direct {
		t.Errorf("of %d prompts, %d direct and %d worked answers are right", n, direct, worked)
	}
}

// TestDirectShare: the share of direct demonstrations is the one asked for.
func TestDirectShare(t *testing.T) {
	const n = 4000
	c := &Chain{Difficulty: Range{1, 7}, Direct: 0.4}
	rng := seeded(22)
	direct := 0
	for range n {
		if demo := c.Demonstration(nil, Draw(c, rng), rng); demo[0] == answerMark {
			direct++
		}
	}
	if sd := math.Sqrt(n * 0.4 * 0.6); math.Abs(float64(direct)-n*0.4) > 4*sd {
		t.Errorf("%d of %d demonstrations are direct", direct, n)
	}
}

// TestFillers: their number is geometric, cut at the cap, and their
// frequencies fall with rank as asked.
func TestFillers(t *testing.T) {
	const n = 4000
	f := NewFiller()
	f.Zipf = 1.2
	rng := seeded(23)
	count := make([]int, fillerSize)
	total, longest := 0, 0
	for range n {
		demo := f.Demonstration(nil, Draw(f, rng), rng)
		here := 0
		for _, id := range demo {
			if int(id) >= sharedSize {
				count[int(id)-sharedSize]++
				here++
			}
		}
		total += here
		longest = max(longest, here)
	}
	// Sum of 0.9^k for k = 1..40 is 8.867; the variance of one is below 90.
	if mean := float64(total) / n; math.Abs(mean-8.867) > 4*math.Sqrt(90.0/n) {
		t.Errorf("%.3f fillers on average, want 8.867", mean)
	}
	if longest != f.MaxFillers {
		t.Errorf("at most %d fillers, want %d", longest, f.MaxFillers)
	}
	// Rank 1 against rank 2: a share of 2^1.2 / (1 + 2^1.2) = 0.6967 of their sum.
	pair := float64(count[0] + count[1])
	if share := float64(count[0]) / pair; math.Abs(share-0.6967) > 4*math.Sqrt(0.25/pair) {
		t.Errorf("rank 1 has %.4f of the first two ranks, want 0.6967", share)
	}
	if slices.Min(count) == 0 {
		t.Errorf("a filler never occurs: %v", count)
	}
}
