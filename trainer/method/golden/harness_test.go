package golden

import (
	"math"
	"strings"
	"testing"
)

func TestCloseIsStrict(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		got, want float64
		close     bool
	}{
		{1, 1, true},
		{1 + 2e-9, 1, false},
		{1 + 0.5e-9, 1, true},
		{1e-5, 1.01e-5, false},
		{nan, nan, true},
		{0, nan, false},
		{nan, 0, false},
		{inf, inf, true},
		{-inf, inf, false},
		{1e300, inf, false},
	} {
		if Close(c.got, c.want, 0) != c.close {
			t.Errorf("Close(%v, %v) is %v", c.got, c.want, !c.close)
		}
	}
}

// TestCheckNoticesWhatIsMissing proves that a matcher cannot pass by looking away.
func TestCheckNoticesWhatIsMissing(t *testing.T) {
	c := &Case{
		File: "none/none.json", Name: "made/up",
		Outputs: Values{"loss": 1.0, "grad": []any{1.0, 2.0}, "metrics": map[string]any{"a/b": 3.0, "c": "nan"}},
	}
	full := func(_ *Case, k *Check) {
		k.Scalar("loss", 1)
		k.Vector("grad", []float64{1, 2})
		k.Metric("metrics", "a/b", 3)
		k.Metric("metrics", "c", math.NaN())
	}
	for _, m := range []struct {
		name  string
		match func(*Case, *Check)
		fault string
	}{
		{"everything", full, ""},
		{"nothing", func(*Case, *Check) {}, "compared nothing"},
		{"one metric missing", func(_ *Case, k *Check) {
			k.Scalar("loss", 1)
			k.Vector("grad", []float64{1, 2})
			k.Metric("metrics", "c", math.NaN())
		}, "metrics/a/b"},
		{"wrong number", func(c *Case, k *Check) { full(c, k); k.Scalar("loss", 1.1) }, "loss: got 1.1"},
		{"wrong shape", func(c *Case, k *Check) { full(c, k); k.Vector("grad", []float64{1}) }, "got 1 numbers"},
		{"panic", func(*Case, *Check) { panic("oops") }, "oops"},
	} {
		k := &Check{c: c, seen: map[string]bool{}, tally: tally{}}
		k.guarded(func() { k.run([]Matcher{{File: "none/*.json", Match: m.match}}) })
		k.unclaimed()
		got := strings.Join(k.failures, "; ")
		if (m.fault == "") != (got == "") || !strings.Contains(got, m.fault) {
			t.Errorf("%s: failures %q, want one with %q", m.name, got, m.fault)
		}
	}
	k := &Check{c: c, seen: map[string]bool{}, tally: tally{}}
	k.run(nil)
	if len(k.failures) == 0 {
		t.Error("a case without a matcher passed")
	}
}

// listings are one of a whole case and one of an output.
var listings = Listings{
	{File: "slime/*.json", Source: "whole", Reason: "a reason of some length"},
	{File: "slime/*.json", Output: "metrics_mean/rs_*", Reason: "a reason of some length"},
}

// A listing needs a reason, and a case that it fits.
func TestListingsAreChecked(t *testing.T) {
	c := &Case{File: "slime/a.json", Source: "whole", Outputs: Values{"metrics_mean": map[string]any{"rs_a": 1.0}}}
	if faults := listings.check([]*Case{c}); len(faults) > 0 {
		t.Errorf("faults %q", faults)
	}
	for want, l := range map[string]Listing{
		"has no reason":  {File: "slime/*.json", Reason: "short"},
		"covers no case": {File: "slime/*.json", Output: "loss", Reason: "a reason of some length"},
	} {
		if faults := (Listings{l}).check([]*Case{c}); len(faults) != 1 || !strings.Contains(faults[0], want) {
			t.Errorf("faults %q, want one that %s", faults, want)
		}
	}
}

// A listing must excuse something: one whose cases match is reported, of whole
// cases any, of an output all.
func TestListingsThatExcuseNothing(t *testing.T) {
	whole, output := &listings[0], &listings[1]
	for _, c := range []struct {
		l               *Listing
		differ, matches int
		stale           bool
	}{
		{whole, 3, 0, false}, {whole, 3, 1, true}, {whole, 0, 1, true},
		{output, 3, 0, false}, {output, 3, 1, false}, {output, 0, 1, true},
	} {
		n := tally{}
		for range c.differ {
			n.add(c.l, true)
		}
		for range c.matches {
			n.add(c.l, false)
		}
		if got := len(n.stale(listings)) == 1; got != c.stale {
			t.Errorf("%q: %d differ, %d match: stale %v", c.l.Output, c.differ, c.matches, got)
		}
	}
}

// A comparison with a listed output never fails and is always counted; null
// where a reference implementation drew nothing equals an empty list.
func TestListedOutputsAreCompared(t *testing.T) {
	c := &Case{File: "slime/mis_weights.json", Outputs: Values{"metrics_mean": map[string]any{"rs_a": 1.0, "rs_b": 2.0}, "drawn": nil}}
	k := &Check{c: c, seen: map[string]bool{}, listings: listings, tally: tally{}}
	k.Metric("metrics_mean", "rs_a", 1)
	k.Metric("metrics_mean", "rs_b", 3)
	k.Vector("drawn", nil)
	k.unclaimed()
	if n := k.tally[&listings[1]]; len(k.failures) > 0 || n == nil || *n != [2]int{1, 1} {
		t.Errorf("failures %q, tally %v", k.failures, n)
	}
}

// A listing whose condition reads an output that a case does not have: the condition is
// not asked about other outputs, and where it panics the case fails and the run goes on.
func TestListingConditionOnMissingOutput(t *testing.T) {
	list := Listings{{File: "verl/*.json", Output: "metrics/lower", Reason: "a constant 0 that we do not log",
		When: func(c *Case) bool { return c.Outputs.Sub("metrics").Float("lower") == 0 }}}
	without := &Case{File: "verl/a.json", Outputs: Values{"loss": 1.0, "metrics": map[string]any{"kl": 2.0}}}
	with := &Case{File: "verl/a.json", Outputs: Values{"loss": 1.0, "metrics": map[string]any{"lower": 0.0}}}
	match := []Matcher{{File: "verl/*.json", Match: func(c *Case, k *Check) {
		k.Scalar("loss", 1)
		if c.Outputs.Sub("metrics").Has("kl") {
			k.Metric("metrics", "kl", 2)
		}
	}}}
	if faults := list.check([]*Case{without, with}); len(faults) > 0 {
		t.Errorf("faults %q", faults)
	}
	for _, c := range []*Case{without, with} {
		k := &Check{c: c, seen: map[string]bool{}, listings: list, tally: tally{}}
		k.guarded(func() { k.run(match) })
		k.guarded(k.unclaimed)
		if len(k.failures) > 0 {
			t.Errorf("%v: %q", c.Outputs, k.failures)
		}
	}
	k := &Check{c: without, seen: map[string]bool{}, listings: list, tally: tally{}}
	k.guarded(func() { k.Metric("metrics", "lower", 0) })
	if len(k.failures) != 1 || !strings.HasPrefix(k.failures[0], "panic: ") {
		t.Errorf("failures %q, want the panic", k.failures)
	}
}

// Only a second set's files may be unknown here, and those that a matcher or a listing
// knows are not skipped.
func TestCasesOfLaterMethods(t *testing.T) {
	match := []Matcher{{File: "trl/grpo*.json", Source: "loss"}}
	for _, c := range []struct {
		set, file string
		later     bool
	}{{"shipped", "trl/iw_opd.json", false}, {"second", "trl/iw_opd.json", true}, {"second", "trl/grpo_types.json", false}, {"second", "slime/a.json", false}, {"second", "verl/a.json", true}} {
		if got := (&Case{Set: c.set, File: c.file}).later(match, listings); got != c.later {
			t.Errorf("%s set, %s: later %v", c.set, c.file, got)
		}
	}
}
