package measure

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"driftlab/engine/rollout"
	"driftlab/precision/must"
	"driftlab/trainer/recipe"
)

// TestOtherDrafter says why another model cannot draft.
func TestOtherDrafter(t *testing.T) {
	r := measured(t)
	must.Do(t, r.Set("rollout.speculative={numerics: bf16}"))
	for _, name := range []string{"nowhere", "filler-base"} {
		must.Do(t, r.Set("rollout.speculative.drafter="+name))
		for _, f := range []func() error{
			func() error { _, err := Gaps(context.Background(), GapRequest{Recipe: r}); return err },
			func() error { _, err := Attribute(context.Background(), AttributeRequest{Recipe: r}); return err },
		} {
			if err := f(); err == nil || !strings.Contains(err.Error(), "rollout.speculative.drafter") {
				t.Errorf("drafter %s: %v", name, err)
			}
		}
	}
}

// TestSpeculationInMeasure has the figures of the drafts, and the gaps to each of
// the log-probs that could have been recorded.
func TestSpeculationInMeasure(t *testing.T) {
	measure := func(set string) *SpeculativeGap {
		r := measured(t)
		must.Do(t, r.Set("rollout.speculative={numerics: fp4-all, "+set+"}"))
		m := must.Get(Gaps(context.Background(), GapRequest{Recipe: r, Pairs: []Pair{{named(t, "fp32"), named(t, "fp32")}}}))(t)
		return m.Pairs[0].Speculative
	}
	exact, lossy := measure("draft: 3"), measure("draft: 3, verify: lossy, tau: 1")
	if exact.Draft != 3 || exact.Cost != 0.125 || exact.Speedup != rollout.Speedup(exact.Acceptance, 0.125, 3) || exact.Tests < 100 || exact.LawTV != 0 ||
		exact.Verifier.Unequal != 0 || exact.Law.Unequal != 0 {
		t.Errorf("exact: %+v", exact)
	}
	if off := exact.Acceptance - (1 - exact.TV); math.Abs(off) > 4*math.Sqrt(exact.TV/float64(exact.Tests)) {
		t.Errorf("acceptance %g, 1 - TV %g", exact.Acceptance, 1-exact.TV)
	}
	if !(lossy.Acceptance > exact.Acceptance) || lossy.LawTV == 0 || lossy.Verifier.Unequal != 0 || lossy.Law.K3 == 0 || math.Abs(lossy.Mislabelled-lossy.Law.MeanAbsDlogp) > 1e-12 {
		t.Errorf("lossy: %+v", lossy)
	}
}

// TestDraftsAreAttributed: what is recorded of drafts is one mechanism among the
// numerics', and the zero-update test holds for the verifier.
func TestDraftsAreAttributed(t *testing.T) {
	for _, of := range []string{"verifier", "drafter", "law"} {
		r := measured(t)
		must.Do(t, r.Set("rollout.speculative={numerics: fp4-all, verify: lossy, tau: 1, log_probs: "+of+"}"))
		a := must.Get(Attribute(context.Background(), AttributeRequest{Recipe: r, Pair: Pair{named(t, "bf16"), named(t, "bf16-fp32-head")}}))(t)
		i := slices.IndexFunc(a.Mechanisms, func(m MechanismPart) bool { return m.Name == draftsName })
		if (i >= 0) != (of != recipe.VerifierLogProbs) || i >= 0 && !(a.Mechanisms[i].Alone.MeanAbsDlogp > 0 && a.Mechanisms[i].Removed.MeanAbsDlogp > 0) {
			t.Errorf("%s: %+v", of, a.Mechanisms)
		}
	}
	r := measured(t)
	must.Do(t, r.Set("rollout.speculative={}"))
	_, err := Attribute(context.Background(), AttributeRequest{Recipe: r, Pair: Pair{named(t, "bf16-batch-variant"), named(t, "bf16")}})
	if err == nil || !strings.Contains(err.Error(), "leave rollout.speculative out") {
		t.Errorf("error %v", err)
	}
}
