package loss

import (
	"reflect"
	"slices"
	"testing"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// TestDependsOn: by the formulas of their pages, with the ratio to the anchor at 1.
func TestDependsOn(t *testing.T) {
	for name, tc := range map[string]struct {
		loss      Loss
		old, roll bool
	}{
		"reinforce":               {method.New[Reinforce](), false, false},
		"ppo_clip":                {method.New[PPOClip](), true, false},
		"cispo":                   {&CISPO{EpsHigh: 0.2, Level: "token", Anchor: Old}, true, false},
		"cispo roll":              {&CISPO{EpsHigh: 0.2, Level: "token", Anchor: Roll}, false, true},
		"decoupled_ppo":           {method.New[DecoupledPPO](), true, true},
		"decoupled_ppo unweighed": {&DecoupledPPO{EpsLow: 0.2, EpsHigh: 0.2, Prox: "recompute", Behave: "none"}, true, false},
		"decoupled_ppo rollout":   {&DecoupledPPO{EpsLow: 0.2, EpsHigh: 0.2, Prox: "rollout", Behave: "token_mask", Cap: 5}, false, true},
		"a3po":                    {NewA3PO(), false, true},
		"logit_fusion":            {method.New[LogitFusion](), false, true},
		"logit_fusion student":    {&LogitFusion{Ratio: "student", Cap: 3}, true, false},
		"maxrl":                   {method.New[MaxRL](), true, false},
		"maxrl plain":             {&MaxRL{Epsilon: 1e-6}, false, false},
		"m2_mask":                 {method.New[M2Mask](), true, true},
		"ipo":                     {method.New[IPO](), false, true},
		"kl_cov":                  {method.New[KLCov](), true, false},
	} {
		for column, want := range map[batch.Column]bool{batch.Anchor: tc.old, batch.LogpRoll: tc.roll} {
			if got, err := DependsOn(tc.loss, column); err != nil || got != want {
				t.Errorf("%s: depends on %s: %v, want %v", name, column, got, want)
			}
		}
	}
}

// TestDependsOnIsDeclared: a gradient depends on no column that the Spec leaves out, and
// asking moves nothing of a loss.
func TestDependsOnIsDeclared(t *testing.T) {
	for _, e := range Registry {
		for _, column := range []batch.Column{batch.Anchor, batch.LogpRoll} {
			l := e.New()
			if depends, _ := DependsOn(l, column); depends && !e.Reads(column) {
				t.Errorf("%s depends on %s, which its Spec does not name", e.Name, column)
			}
			if s, ok := l.(interface{ AppendState([]byte) []byte }); ok {
				if fresh := e.New().(interface{ AppendState([]byte) []byte }); !reflect.DeepEqual(s.AppendState(nil), fresh.AppendState(nil)) {
					t.Errorf("%s: its state moved", e.Name)
				}
			}
		}
	}
}

// TestTakesWeights: importance weights have an effect in every loss but these, and gates in all but one.
func TestTakesWeights(t *testing.T) {
	without := []string{"a2po", "flowrl", "gvpo", "oapl", "online_dpo", "real"}
	byRoll := []string{"a2po", "a3po", "acr", "aipo", "decoupled_ppo", "dppo_kl", "dppo_topk", "dppo_tv", "importance_sampling", "ipo", "iw_opd", "logit_fusion", "mipu", "oapl", "ppo_mask",
		"prime_dppo", "prime_geo", "prime_masked", "ref_kl", "rollout_is", "sao", "score_centering", "topr"}
	for _, e := range Registry {
		if responds(e.New(), true, func(*batch.Batch, int, float64) {}) {
			t.Errorf("%s: cannot be evaluated", e.Name)
		}
		if weighs := WeighsByRoll(e.New()); weighs != slices.Contains(byRoll, e.Name) {
			t.Errorf("%s: weighs by mu: %v", e.Name, weighs)
		}
		if takes := TakesWeights(e.New()); takes == slices.Contains(without, e.Name) {
			t.Errorf("%s: takes weights: %v", e.Name, takes)
		}
		if takes := TakesGates(e.New()); takes == (e.Name == "online_dpo") {
			t.Errorf("%s: takes gates: %v", e.Name, takes)
		}
	}
}
