package study

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"driftlab/precision/must"
	"driftlab/results/record"
)

// laddered is an index of one arm with a key for each rate and seed.
func laddered(l Ladder, seeds, confirm int) *Index {
	if problem := l.fill(); problem != "" {
		panic(problem)
	}
	x := &Index{Ladder: &l, Factors: []IndexFactor{{Name: "method", Values: []string{"none"}}, {Name: rateFactor, Values: l.names()}}}
	for k := range seeds + confirm {
		x.Seeds = append(x.Seeds, uint64(k))
	}
	x.Confirm = x.Seeds[seeds:]
	for _, name := range l.names() {
		a := Arm{Values: map[string]string{"method": "none", rateFactor: name}}
		for k := range x.Seeds {
			a.Keys = append(a.Keys, fmt.Sprintf("%s/%d", name, k))
		}
		x.Arms = append(x.Arms, a)
	}
	return x
}

// climbed are the rates that a ladder runs with its locating and its confirming seeds, in the order in which it asks for them, where
// a run at a rate ends at final.
func climbed(t *testing.T, x *Index, final func(rate float64, seed int) float64) (located, confirmed []string) {
	t.Helper()
	done := map[string]*Outcome{}
	for round := 0; ; round++ {
		asked := 0
		for _, w := range x.wanted(done) {
			a := &x.Arms[w.arm]
			name := a.Values[rateFactor]
			if done[a.Keys[w.seed]] != nil {
				continue
			}
			asked++
			var rate float64
			fmt.Sscan(name, &rate)
			o := &Outcome{Status: record.StatusFinished}
			o.Final, o.Peak = record.Number(final(rate, w.seed)), 0.95
			done[a.Keys[w.seed]] = o
			list := &located
			if w.seed >= len(x.Seeds)-len(x.Confirm) {
				list = &confirmed
			}
			if !slices.Contains(*list, name) {
				*list = append(*list, name)
			}
		}
		if asked == 0 {
			return located, confirmed
		}
		if round > 100 {
			t.Fatal("the ladder does not end")
		}
	}
}

// A value that fewer models run asks for the first of them alone, and its limit is known without the others.
func TestLadderFewer(t *testing.T) {
	x := laddered(Ladder{From: 1e-3, Find: findLimit, Fewer: []Fewer{{"none", 2}}}, 5, 0)
	x.Within = "method"
	done := map[string]*Outcome{}
	for range 10 {
		for _, w := range x.wanted(done) {
			if w.seed >= 2 {
				t.Fatalf("model %d is asked for", w.seed)
			}
			a := &x.Arms[w.arm]
			var rate float64
			fmt.Sscan(a.Values[rateFactor], &rate)
			o := &Outcome{Status: record.StatusFinished, RunOutcome: record.RunOutcome{Peak: .9, Final: .1}}
			if rate < 4e-4 {
				o.Final = .9
			}
			done[a.Keys[w.seed]] = o
		}
	}
	if early := x.premature(done); len(early) > 0 {
		t.Errorf("%d cells are called premature", len(early))
	}
	x.Ladder.Fewer = nil
	if asked := x.wanted(done)[0]; len(x.premature(done)) == 0 {
		t.Errorf("without fewer, all five models are to locate: %v", asked)
	}
}

func TestLadder(t *testing.T) {
	// A run ends at .95 below its limit, lower where the rate is too small to get there, and at .1 above.
	upTo := func(limits ...float64) func(float64, int) float64 {
		return func(rate float64, seed int) float64 {
			if rate > limits[seed%len(limits)] {
				return .1
			}
			return min(.95, .9+rate*100)
		}
	}
	check := func(d Declared) []Declared {
		d.Statistic, d.Arms, d.Over = statisticFinal, []string{"none"}, "none"
		return []Declared{d}
	}
	for _, k := range []struct {
		name               string
		l                  Ladder
		checks             []Declared
		confirm            int
		final              func(float64, int) float64
		located, confirmed string
	}{
		{"climbs until every seed fails", Ladder{From: 5e-4}, nil, 0, upTo(1.5e-3, 3e-3), "5e-4 1e-3 2e-3 4e-3", ""},
		{"goes down from a rate that fails", Ladder{From: 5e-4}, nil, 0, upTo(2e-4), "5e-4 2.5e-4 1.25e-4 6.25e-5 1.8e-4", ""},
		{"ends at the highest rate where all works", Ladder{From: 5e-4, Highest: 2e-3}, nil, 0, upTo(1), "5e-4 1e-3 2e-3", ""},
		{"ends at the lowest rate where nothing works", Ladder{From: 5e-4, Lowest: 1.25e-4}, nil, 0, upTo(0), "5e-4 2.5e-4 1.25e-4", ""},
		{"confirms from the best rate to the first that fails", Ladder{From: 5e-4}, nil, 3, upTo(1.5e-3, 3e-3), "5e-4 1e-3 2e-3 4e-3", "1e-3 2e-3 4e-3 5e-4"},
		{"runs the rate that a check needs", Ladder{From: 5e-4}, check(Declared{At: 1.25e-4}), 3, upTo(1.5e-3), "5e-4 1.25e-4 1e-3 2e-3", "1.25e-4 1e-3 2e-3 5e-4 1.4e-3"},
		{"runs half the limit that a check needs", Ladder{From: 5e-4}, check(Declared{HalfLimit: "none"}), 3, upTo(1.1e-3), "5e-4 1e-3 2e-3", "1e-3 2e-3 5e-4 1.4e-3"},
		{"bisects for a limit", Ladder{From: 5e-4, Find: findLimit}, nil, 2, upTo(1.5e-3), "5e-4 2e-3 1e-3", "1e-3 2e-3 1.4e-3"},
	} {
		x := laddered(k.l, 2, k.confirm)
		x.Judge = k.checks
		located, confirmed := climbed(t, x, k.final)
		if got := strings.Join(located, " "); got != k.located {
			t.Errorf("%s: ran %s, want %s", k.name, got, k.located)
		}
		if got := strings.Join(confirmed, " "); got != k.confirmed {
			t.Errorf("%s: confirmed %s, want %s", k.name, got, k.confirmed)
		}
	}
}

// Fresh seeds run the rates that were confirmed, once every seed that confirms has run them.
func TestLadderFreshAfterConfirm(t *testing.T) {
	x := laddered(Ladder{From: 5e-4}, 2, 5)
	x.Confirm, x.Fresh = x.Seeds[2:5], x.Seeds[5:]
	done, seen := map[string]*Outcome{}, map[string]bool{}
	if early := x.premature(done); !early["1e-3/2"] || !early["1e-3/5"] || !early["1e-3/1"] {
		t.Errorf("before any run: %v", early)
	}
	for {
		asked := 0
		for _, w := range x.wanted(done) {
			a := &x.Arms[w.arm]
			if done[a.Keys[w.seed]] != nil {
				continue
			}
			asked++
			var rate float64
			fmt.Sscan(a.Values[rateFactor], &rate)
			o := &Outcome{Status: record.StatusFinished}
			o.Peak, o.Final = .95, .95
			if rate > 1e-3 {
				o.Final = .1
			}
			if w.seed >= 5 {
				seen[a.Values[rateFactor]] = true
				for _, confirmed := range a.Keys[2:5] {
					if done[confirmed] == nil {
						t.Errorf("a fresh seed runs %s before %s", a.Values[rateFactor], confirmed)
					}
				}
			}
			done[a.Keys[w.seed]] = o
		}
		if asked == 0 {
			break
		}
	}
	if early := x.premature(done); len(early) > 0 {
		t.Errorf("after all runs: %v", early)
	}
	delete(done, "2e-3/6")
	if early := x.premature(done); early["1e-3/2"] || !early["1e-3/5"] {
		t.Errorf("without a run of a fresh seed: %v", early)
	}
	delete(done, "2e-3/1")
	if early := x.premature(done); !early["1e-3/1"] {
		t.Errorf("without a run of a seed that locates: %v", early)
	}
	if len(seen) != 3 || !seen["5e-4"] || !seen["1e-3"] || !seen["2e-3"] {
		t.Errorf("fresh seeds ran %v", seen)
	}
}

// tinyLadder is a ladder of milliseconds over two arms.
const tinyLadder = `
base: headline
set: {steps: 4, eval: {every: 1, prompts: 4}, rollout: {prompts: 2, group: 2, max_tokens: 8}}
seeds: [3, 4]
confirm: [5]
rates: {from: 1e-3, lowest: 5e-4, highest: 4e-3}
factors:
  - name: method
    values:
      - {name: none}
      - {name: opsm, set: {correction: {masks: [{name: opsm}]}}}
`

// A ladder that is run in parts, each interrupted again and again, has the cells of one that is run as a whole, and then lacks none.
func TestLadderShardedAndKilled(t *testing.T) {
	g, whole, parts := gridOf(t, tinyLadder), t.TempDir(), t.TempDir()
	sweepInto(t, g, Options{Dir: whole, Workers: 2})
	done := must.Get(Finish(whole, Tables{}))(t)
	if missing := done.Missing(); missing != "" {
		t.Error(missing)
	}
	if most, err := g.Most(Options{Dir: whole}); err != nil || most+len(done.Rows) < 4*2*3 {
		t.Errorf("%d more at most beside %d, and four steps of two arms have three seeds (%v)", most, len(done.Rows), err)
	}
	var dirs []string
	for i := range 2 {
		o := Options{Dir: filepath.Join(parts, fmt.Sprint(i)), Workers: 1, Shard: Shard{i, 2}}
		for stop := 7; ; stop += 7 {
			ctx, cancel := context.WithCancel(context.Background())
			made := 0
			o.Progress = func(Progress) {
				if made++; made == stop {
					cancel()
				}
			}
			err := g.Run(ctx, o)
			cancel()
			if err == nil {
				break
			}
		}
		dirs = append(dirs, o.Dir)
	}
	out := filepath.Join(parts, "out")
	if _, err := Merge(dirs[:1], filepath.Join(parts, "half"), Tables{}); err == nil {
		t.Error("one of two parts was taken for the whole")
	}
	must.Get(Merge(dirs, out, Tables{}))(t)
	want, got := filesOf(t, whole), filesOf(t, out)
	delete(want, ".lock")
	delete(got, ".lock")
	if !maps.Equal(want, got) {
		for name := range want {
			if want[name] != got[name] {
				t.Errorf("%s differs", name)
			}
		}
		t.Errorf("%d files, want %d", len(got), len(want))
	}
}

func TestParseLadder(t *testing.T) {
	for _, k := range []struct{ name, text, want string }{
		{"no rate", "rates: {lowest: 1e-4}", "0 < lowest <= from <= highest"},
		{"below the lowest", "rates: {from: 1e-4, lowest: 1e-3}", "0 < lowest <= from <= highest"},
		{"too wide", "rates: {from: 1, lowest: 1e-9}", "more than 16 factors of 2"},
		{"unknown search", "rates: {from: 1e-4, find: speed}", "neither level nor limit"},
		{"confirms nothing", "confirm: [7]", "checks what a ladder located"},
		{"confirms the same seed", "rates: {from: 1e-4}\nseeds: [7]\nconfirm: [7]", "seed 7 is among those before"},
		{"fresh without confirm", "rates: {from: 1e-4}\nseeds: [7]\nfresh: [8]", "checks what other models judged"},
		{"a check without rates", "judge: [{statistic: limit, arms: [a], over: b, needs: above, bound: 1}]", "p.yaml:2: judge: compares limits and levels"},
		{"an unknown statistic", "rates: {from: 1e-4}\njudge: [{statistic: limits, arms: [a], over: b, needs: above, bound: 1}]", `p.yaml:3: judge[0]: statistic: unknown name "limits": did you mean "limit"?`},
		{"an unknown need", "rates: {from: 1e-4}\njudge: [{statistic: limit, arms: [a], over: b, needs: abvoe, bound: 1}]", `judge[0]: needs: unknown name "abvoe": did you mean "above"?`},
		{"a check without arms", "rates: {from: 1e-4}\njudge: [{statistic: limit, over: b, needs: above, bound: 1}]", "judge[0]: arms: missing"},
		{"a check without a bound", "rates: {from: 1e-4}\njudge: [{statistic: limit, arms: [a], over: b, needs: above}]", "judge[0]: bound: 0: a ratio of limits needs a bound above 0"},
		{"a last rate without a place", "rates: {from: 1e-4}\njudge: [{statistic: final, arms: [a], over: b, needs: above, bound: 0}]", "judge[0]: statistic final needs one of at"},
		{"a check since one arm", "rates: {from: 1e-4}\njudge: [{statistic: level, arms: [a], over: b, since: [c], needs: above, bound: 0}]", "judge[0]: since: names two arms"},
		{"an arm that the plan has not", "arms: [{name: none}, {name: tis}]\nrates: {from: 1e-4}\njudge: [{statistic: limit, arms: [tsi], over: none, needs: above, bound: 1}]", `p.yaml:4: judge[0]: no such arm: unknown name "tsi": did you mean "tis"?`},
		{"half the limit of no arm", "arms: [{name: none}, {name: tis}]\nrates: {from: 1e-4}\njudge: [{statistic: final, half limit of: x, arms: [tis], over: none, needs: above, bound: 0}]", `no such arm: unknown name "x"`},
		{"a model without a folder", "models: [{recipe: chain-base}]", "needs the recipe of a warm start and the folder"},
	} {
		if _, err := Parse("p.yaml", []byte("base: headline\n"+k.text+"\n")); err == nil || !strings.Contains(err.Error(), k.want) {
			t.Errorf("%s: %v", k.name, err)
		}
	}
	must.Get(Parse("p.yaml", []byte("base: headline\narms: [{name: none}, {name: tis}]\nrates: {from: 1e-4}\nexcept: [{arm: tis}]\njudge: [{statistic: limit, arms: [tis], over: none, needs: above, bound: 1}]\n")))(t) // left out, and known
}

// TestLadderOnlyOfRate: rates that are asked for by name are run for every seed, whatever the ladder would begin with.
func TestLadderOnlyOfRate(t *testing.T) {
	g := gridOf(t, tinyLadder)
	rates := map[string]bool{}
	for _, c := range g.Cells {
		rates[c.Values[rateFactor]] = true
	}
	for rate := range rates {
		only := must.Get(ParseCondition("rate=" + rate))(t)
		left := must.Get(g.Left(Options{Dir: t.TempDir(), Only: []Condition{only}}))(t)
		if len(left) != 2*len(g.Plan.Seeds) {
			t.Errorf("rate %s: %d runs, two arms have %d seeds", rate, len(left), len(g.Plan.Seeds))
		}
		for _, c := range left {
			if c.Values[rateFactor] != rate {
				t.Errorf("rate %s: a run at %s", rate, c.Values[rateFactor])
			}
		}
	}
}
