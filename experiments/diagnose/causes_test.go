package diagnose

import (
	"cmp"
	"flag"
	"math"
	"slices"
	"strings"
	"testing"
)

// fresh is for the nightly tests: as many fresh worlds as a rate takes, in minutes.
var fresh = flag.Bool("fresh", false, "analyse hundreds of fresh worlds in place of a few of each kind")

// of analyses a planted world.
func of(w SyntheticDump) (Report, map[string]float64) {
	rows, shares := w.Rows()
	return analysed(Options{Experts: 8}, rows).judgement(), shares
}

// Fresh healthy worlds are called healthy: no fault, and no cause but precision. Of equal engines no more is said than that there is no gap.
func TestFreshHealthyWorlds(t *testing.T) {
	n := 12
	if *fresh {
		n = 200
	}
	faulty, precise := 0, 0
	for seed := range n {
		w := Cases[0].Draw(uint64(900_000 + seed))
		w.Sigma = 0.01 + 0.03*float64(seed%7)/7
		if seed%10 == 9 {
			w.Sigma = 0
		}
		r, _ := of(w)
		if _, any := first(r); any {
			faulty++
		}
		v := r.Verdict
		if w.Sigma == 0 { // and no prompt tells a copy
			if v.State != Inactive || len(v.Causes) > 0 {
				t.Errorf("world %d: %+v", seed, v)
			}
			continue
		}
		if v.State != Healthy || len(v.Causes) > 0 && !slices.Equal(v.Causes, []string{Precision}) {
			t.Errorf("world %d: %+v", seed, v)
		}
		if len(v.Causes) > 0 {
			precise++
		}
	}
	t.Logf("%d worlds: precision is named or likely in %d, %d have a fault", n, precise, faulty)
	if faulty*100 > n || precise*2 < n {
		t.Errorf("%d of %d have a fault, in %d precision is said", faulty, n, precise)
	}
}

// first is a check that failed.
func first(r Report) (string, bool) {
	for _, c := range r.Checks {
		if c.Result == Fail {
			return c.ID, true
		}
	}
	return "", false
}

// Fresh worlds of one cause have it first, and never another one named; those of two have both listed,
// with parts that are about theirs.
func TestFreshWorlds(t *testing.T) {
	each := 2
	if *fresh {
		each = 24
	}
	right, n, alone, named, parts, close, listed, above := 0, 0, 0, 0, 0, 0, 0, 0
	for i, c := range Cases {
		for k := range each {
			r, shares := of(c.Draw(uint64(800_000 + 1000*i + k)))
			if r.Verdict.State == Repair || len(r.Causes) == 0 || !c.Mixed && shares[c.Cause] < most {
				continue
			}
			for name, share := range shares {
				got := 0.0
				at := slices.IndexFunc(r.Causes, func(x Cause) bool { return x.Name == name })
				if at >= 0 {
					got = r.Causes[at].ShareK3[1]
				}
				if c.Mixed {
					if parts++; math.Abs(got-share) <= 0.15 {
						close++
					}
					if share > 0.1 {
						above++
						listed += count1(at >= 0)
					}
				}
			}
			if c.Mixed {
				continue
			}
			n++
			alone += count1(len(r.Verdict.Causes) == 1)
			right += count1(r.Causes[0].Name == c.Cause)
			if r.Verdict.Confidence == Confident {
				named++
				if r.Verdict.Causes[0] != c.Cause {
					t.Errorf("%s %d: %+v", c.Name, k, r.Verdict)
				}
			}
		}
	}
	t.Logf("one cause: first in %d of %d, alone in %d, %d named, none wrongly; two: %d of %d parts within 0.15, %d of %d causes above 0.1 listed", right, n, alone, named, close, parts, listed, above)
	if right*100 < 85*n || named*10 < n || close*100 < 70*parts || listed*100 < 70*above {
		t.Errorf("one cause: first in %d of %d, %d named; two: %d of %d parts within 0.15, %d of %d causes listed", right, n, named, close, parts, listed, above)
	}
}

// Several steps tell weights that were never synced from old ones: the direction of a token id stays.
func TestTurn(t *testing.T) {
	for _, c := range []struct {
		of   string
		w    SyntheticDump
		low  float64
		high float64
		name string
		says string
	}{
		{"unsynced", SyntheticDump{Unsynced: 0.3}, 0.85, 1, Unsynced, "some weights were never synchronised"},
		{"lag", SyntheticDump{Lags: []int{16}, Eta: 0.05, Stays: 0.3}, 0, 0.7, Staleness, "the weights are stale"},
	} {
		w := Cases[0].Draw(5)
		w.Steps, w.Responses, w.ByID = 4, 64, 0.5
		w.Unsynced, w.Lags, w.Eta, w.Stays = c.w.Unsynced, c.w.Lags, c.w.Eta, c.w.Stays
		r, _ := of(w)
		f := r.Features
		if f == nil || f.Turn == nil || *f.Turn < c.low || *f.Turn > c.high {
			t.Errorf("%s: %+v", c.of, f)
			continue
		}
		if r.Causes[0].Name != c.name || !strings.Contains(r.Causes[0].Why, c.says) || !strings.Contains(r.Verdict.Summary, c.says) || slices.Contains(r.Ambiguous, [2]string{"lag", "unsynced"}) {
			t.Errorf("%s: %+v, ambiguous %v", c.of, r.Verdict, r.Ambiguous)
		}
	}
}

// lagged is a world of three lags, whose rows are tagged as given.
func lagged(version func(group int) int) Report {
	w := Cases[0].Draw(11)
	w.Lags, w.Eta, w.ByID, w.Responses = []int{1, 8, 32}, 0.06, 0.4, 48
	rows, _ := w.Rows()
	for _, r := range rows {
		r.Head = r.Step - 1 - version(r.Group)
		r.Tail = r.Head
	}
	return analysed(Options{}, rows).judgement()
}

// Versions are a dose where they are right, make lag doubtful where none is old, and are a fault where the gap looks
// like lag and does not grow with them.
func TestVersions(t *testing.T) {
	lags := []int{1, 8, 32}
	r := lagged(func(g int) int { return lags[g%3] })
	if f := r.Features; f.LagSlope == nil || *f.LagSlope < 0.4 || *f.LagRank < 0.5 || r.Verdict.Causes[0] != Staleness || r.Verdict.Confidence != Confident {
		t.Errorf("dose: %+v of %+v", r.Verdict, f)
	}
	r = lagged(func(g int) int { return lags[2-g%3] })
	if c := said(r, "version-tag", "all"); c.Result != Fail || c.Value >= 0 || r.Verdict.State != Repair || r.Verdict.Causes[0] != Bookkeeping {
		t.Errorf("tags the wrong way round: %+v, %+v", c, r.Verdict)
	}
	r = lagged(func(int) int { return 0 })
	if r.Verdict.Confidence > Either { // weights that were never synced have new tags
		t.Errorf("nothing is old: %+v", r.Verdict)
	}
}

// Jumps are routing where the model is known to have experts, likely so where nothing is known, and never in a dense one.
func TestExperts(t *testing.T) {
	w := Cases[3].Draw(4)
	rows, _ := w.Rows()
	for experts, want := range map[int]Confidence{0: Likely, 1: Unknown, 8: Confident} {
		r := analysed(Options{Experts: experts}, rows).judgement()
		routing := slices.Contains(r.Verdict.Causes, Routing) || slices.ContainsFunc(r.Causes, func(c Cause) bool { return c.Name == Routing })
		if routing != (experts != 1) || experts != 1 && r.Verdict.Confidence != want || strings.Contains(r.Verdict.Summary, "only if the model has experts") != (experts == 0) {
			t.Errorf("%d experts: %+v, %+v", experts, r.Verdict, r.Causes)
		}
	}
}

// A part is named beside what the gap looks like where it is large enough, and one of two is said only where one has it all.
func TestPartners(t *testing.T) {
	for _, c := range []struct {
		name       string
		ratio      float64 // log10, of precision to staleness
		word       Confidence
		parts      map[string][3]float64
		want       []string
		confidence Confidence
	}{
		{"both", 0.5, Either, map[string][3]float64{Precision: {0.2, 0.7, 0.9}, Staleness: {0.05, 0.3, 0.6}}, []string{Precision, Staleness}, Likely},
		{"both, the smaller looks likelier", -0.5, Either, map[string][3]float64{Precision: {0.2, 0.6, 0.9}, Staleness: {0.05, 0.4, 0.6}}, []string{Staleness, Precision}, Likely},
		{"one of two", 0.5, Either, map[string][3]float64{Precision: {0.6, 0.9, 1}, Staleness: {0, 0.1, 0.4}}, []string{Precision, Staleness}, Either},
		{"a small part", 2.5, Confident, map[string][3]float64{Precision: {0.5, 0.8, 1}, Staleness: {0.05, 0.2, 0.5}}, []string{Precision}, Confident},
		{"a small part that is sure", 2.5, Confident, map[string][3]float64{Precision: {0.5, 0.8, 1}, Staleness: {0.11, 0.2, 0.5}}, []string{Precision, Staleness}, Likely},
		{"the look is another", 1.5, Likely, map[string][3]float64{Precision: {0, 0.05, 0.1}, Staleness: {0.8, 0.95, 1}}, []string{Staleness, Precision}, Either},
		{"unlike any", 1.5, Unknown, map[string][3]float64{Precision: {0.2, 0.5, 1}, Staleness: {0.2, 0.5, 1}}, []string{Precision}, Unknown},
	} {
		families := []evidenceFor{{cause: Precision, log: c.ratio * math.Ln10}, {cause: Staleness}, {cause: Routing, log: -20}}
		slices.SortFunc(families, func(a, b evidenceFor) int { return cmp.Compare(b.log, a.log) })
		names, word := partners(families, c.word, c.parts)
		if !slices.Equal(names, c.want) || word != c.confidence {
			t.Errorf("%s: %v, %q", c.name, names, word)
		}
	}
}

// An interval has the true shares at which what was predicted is accepted, by hand between the log-odds of the ends.
func TestAround(t *testing.T) {
	at := boundedLogit
	list := []acceptance{{0, at(0), at(0.2), 99}, {0.5, at(0.3), at(0.7), 99}, {1, at(0.8), at(1), 99}}
	for _, c := range []struct{ s, low, high float64 }{{0.1, 0, 0.283}, {0.5, 0.309, 0.691}, {0.9, 0.717, 1}} {
		got := around(list, c.s)
		if got[1] != c.s || math.Abs(got[0]-c.low) > 1e-3 || math.Abs(got[2]-c.high) > 1e-3 {
			t.Errorf("%v: %v", c.s, got)
		}
	}
}

// What no simulation had has no cause; engines in fp32 have the order of sums.
func TestUnlikeAndFinest(t *testing.T) {
	rows := rowsOf(21, 0.03, 60, 60)
	n := 0
	tokens(rows, func(_ int, roll, old *float64) { // errors of one size, of either sign
		n++
		*old = *roll + 1e-3*(1-math.Exp(*roll))*float64(1-2*(n%2))
	})
	if v := report(Options{}, rows).Verdict; v.Confidence != Unknown || len(v.Causes) > 0 {
		t.Errorf("%+v", v)
	}
	rows = rowsOf(21, 3e-7, 60, 60)
	r := report(Options{}, rows)
	if r.Verdict.State != Healthy || len(r.Causes) != 1 || r.Causes[0].Name != Order {
		t.Errorf("%+v, %+v", r.Verdict, r.Causes)
	}
}

// Parts of a gap are found by their jumps, and none where there are none, however unequal positions are.
func TestJumps(t *testing.T) {
	for _, c := range []struct {
		name      string
		share     float64
		low, high float64
	}{{"none", 0, 0, 0}, {"some", 0.03, 0.5, 1}} {
		w := Cases[0].Draw(31)
		w.Sigma, w.FlipShare, w.FlipRun, w.FlipSize = 0.03, c.share, 3, 0.9
		rows, shares := w.Rows()
		a := analysed(Options{}, rows)
		part := featuresOf(a.sample.inOrder())
		if *part.Jumps < c.low || *part.Jumps > c.high || math.Abs(*part.Jumps-shares[Routing]) > 0.1 {
			t.Errorf("%s: %v of the gap jumps, where it is %v", c.name, *part.Jumps, shares[Routing])
		}
	}
}

// The words go by the ratio, the distance, and what the data cannot tell.
func TestConfidence(t *testing.T) {
	none, some := 0.0, 3.0
	for _, c := range []struct {
		name            string
		first, second   string
		ratio, distance float64
		f               Features
		word            Confidence
		cannot          [2]string
	}{
		{"named", Routing, Precision, 2.01, 0.9, Features{Med: new(0.03)}, Confident, [2]string{"routes", "weights of experts"}},
		{"routes recorded", Routing, Precision, 2.01, 0.9, Features{Med: new(0.03), FlipPart: new(0.9)}, Confident, [2]string{}},
		{"likely", Routing, Precision, 1.99, 0.9, Features{Med: new(0.03)}, Likely, [2]string{"routes", "weights of experts"}},
		{"still likely", Routing, Precision, 1.01, 0.9, Features{Med: new(0.03)}, Likely, [2]string{"routes", "weights of experts"}},
		{"either", Routing, Precision, 0.99, 0.9, Features{Med: new(0.03)}, Either, [2]string{Routing, Precision}},
		{"unlike", Routing, Precision, 9, 1.01, Features{Med: new(0.03)}, Unknown, [2]string{Routing, Precision}},
		{"fine rounding", Precision, Staleness, 3, 0.5, Features{Med: new(0.049)}, Confident, [2]string{Precision, Order}},
		{"coarse rounding", Precision, Staleness, 3, 0.5, Features{Med: new(0.051)}, Likely, [2]string{Precision, Staleness}},
		{"coarse, nothing old", Precision, Staleness, 3, 0.5, Features{Med: new(0.051), Lag: &none}, Confident, [2]string{Precision, Order}},
		{"a tail", Precision, Staleness, 3, 0.5, Features{Med: new(0.01), Lone: new(0.29)}, Confident, [2]string{Precision, Order}},
		{"half of it a tail", Precision, Staleness, 3, 0.5, Features{Med: new(0.01), Lone: new(0.31)}, Likely, [2]string{Precision, Routing}},
		{"age without a dose", Staleness, Precision, 3, 0.5, Features{Med: new(0.1), Lag: &some}, Likely, [2]string{Precision, Staleness}},
		{"age with a dose", Staleness, Precision, 3, 0.5, Features{Med: new(0.1), Lag: &some, LagSlope: new(0.7)}, Confident, [2]string{}},
		{"turning", Staleness, Precision, 3, 0.5, Features{Med: new(0.1), Turn: new(0.69)}, Likely, [2]string{Precision, Staleness}},
		{"half turned", Staleness, Precision, 3, 0.5, Features{Med: new(0.1), Turn: new(0.71)}, Likely, [2]string{"lag", "unsynced"}},
		{"hardly turned", Staleness, Precision, 3, 0.5, Features{Med: new(0.1), Turn: new(0.84)}, Likely, [2]string{"lag", "unsynced"}},
	} {
		word, pairs := confidence(&c.f, []evidenceFor{{cause: c.first, log: c.ratio * math.Ln10, distance: c.distance}, {cause: c.second}})
		if word != c.word || len(pairs) > 0 != (c.cannot[0] != "") || len(pairs) > 0 && !slices.Contains(pairs, c.cannot) {
			t.Errorf("%s: %q, %v", c.name, word, pairs)
		}
	}
	// What the look speaks for and versions against is never more than one of two.
	if word, _ := confidence(&Features{Med: new(0.03)}, []evidenceFor{{cause: Precision, log: 9, look: 9}, {cause: Staleness, look: 9.1}}); word != Either {
		t.Errorf("against the look: %q", word)
	}
	f := Features{Turn: new(0.86), Med: new(0.1)}
	if _, pairs := confidence(&f, []evidenceFor{{cause: Staleness, log: 9}, {cause: Precision}}); slices.Contains(pairs, [2]string{"lag", "unsynced"}) {
		t.Errorf("a direction that stays: %v", pairs)
	}
}

// What the classes say, and what records say against it.
func TestFamilies(t *testing.T) {
	r, _ := of(Cases[0].Draw(5))
	f := *r.Features
	by := func(f Features) map[string]float64 {
		m := map[string]float64{}
		for _, e := range the.Classes.families(&f) {
			m[e.cause] = e.log / math.Ln10
		}
		return m
	}
	f.FlipPart = new(0.5)
	before := by(f)
	for _, c := range []struct {
		name  string
		set   func(f *Features)
		cause string
		by    float64
	}{
		{"nothing is old", func(f *Features) { f.Lag = new(0.0) }, Staleness, -excluded},
		{"something is old", func(f *Features) { f.Lag = new(2.0) }, Staleness, tagged},
		{"the same experts", func(f *Features) { f.FlipPart = new(0.0) }, Routing, -excluded},
		{"half of it where they differ", func(f *Features) { f.FlipPart = new(0.5) }, Routing, 0},
		{"a little less than half", func(f *Features) { f.FlipPart = new(0.4) }, Routing, -excluded / 2},
		{"the direction turns", func(f *Features) { f.Turn = new(0.69) }, Precision, -excluded},
		{"the direction stays", func(f *Features) { f.Turn = new(0.71) }, Precision, 0},
	} {
		g := f
		c.set(&g)
		after := by(g)
		for cause, x := range after {
			want := before[cause]
			if cause == c.cause {
				want += c.by
			}
			if math.Abs(x-want) > 1e-9 {
				t.Errorf("%s: %s is %v, want %v", c.name, cause, x, want)
			}
		}
	}
}
