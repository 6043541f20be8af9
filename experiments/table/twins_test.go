package table_test

import (
	"strings"
	"testing"

	"driftlab/experiments/sweep"
	"driftlab/experiments/table"
	"driftlab/trainer/recipe"
)

// twins are the methods that the screen leaves out for being another's twin, as they
// and the other are set.
var twins = []struct{ method, set, of string }{
	{"segment_tis", "{correction: {weights: segment_tis}}", "{correction: {weights: geometric_tis}}"},
	{"segment_mask", "{correction: {masks: [{name: segment_mask, low: 0.99, high: 1.01}]}}", "{correction: {masks: [{name: geometric, low: 0.99, high: 1.01}]}}"},
	{"token_k1", "{correction: {masks: [{name: token_k1, low: 0.8, high: 1.25}]}}", "{correction: {masks: [{name: token_mask, low: 0.8, high: 1.25}]}}"},
	{"seq_sum_k1", "{correction: {masks: [{name: seq_sum_k1, low: 0.8, high: 1.25}]}}", "{correction: {masks: [{name: sequence_mask, low: 0.8, high: 1.25}]}}"},
	{"gigpo", "{advantage: {name: gigpo, episode_weight: 0.5, step_weight: 0.5}}", "{advantage: {name: grpo}}"},
	{"turn_level", "{advantage: {name: turn_level}}", "{advantage: {name: grpo}}"},
	{"tir_optimal_token_baseline", "{advantage: {name: tir_optimal_token_baseline}}", "{advantage: {name: optimal_token_baseline}}"},
	{"keep_routing", "{routing: {replay: keep_routing}}", "{routing: {replay: r3}}"},
}

// What is called a twin trains alike, bit for bit, and otherwise than without it.
func TestTwins(t *testing.T) {
	var plan strings.Builder
	plan.WriteString("name: twins\nbase: headline\nset: {steps: 6, eval: {every: 6, prompts: 8}, rollout: {numerics: bf16}, schedule: {name: lag, k: 4}, learner: {optimizer: {lr: 3e-3}}}\nfactors:\n  - name: method\n    values:\n      - {name: bare}\n")
	for _, pair := range twins {
		plan.WriteString("      - {name: " + pair.method + ", set: " + pair.set + "}\n      - {name: of-" + pair.method + ", set: " + pair.of + "}\n")
	}
	p, err := sweep.Parse("twins.yaml", []byte(plan.String()))
	if err != nil {
		t.Fatal(err)
	}
	grid, err := p.Grid(func(base string, changes []recipe.Change) (recipe.Recipe, error) {
		return recipe.LoadChanged(base, changes...)
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := sweep.Run(t.Context(), grid, sweep.Options{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	done, err := sweep.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	trace := map[string]sweep.Trace{}
	for _, o := range done.Rows {
		trace[o.Values["method"]] = o.Trace
	}
	checked := map[string]bool{}
	for _, pair := range twins {
		checked[pair.method] = true
		if trace[pair.method] != trace["of-"+pair.method] {
			t.Errorf("%s: trained otherwise than what it is said to be the twin of", pair.method)
		}
		if pair.of != "{advantage: {name: grpo}}" && trace[pair.method] == trace["bare"] {
			t.Errorf("%s: trained as if it were not there, so that nothing was compared", pair.method)
		}
	}
	for _, r := range table.Unscreened {
		if strings.Contains(r.Why, "twin") && !checked[r.Method] {
			t.Errorf("%s is called a twin and not compared", r.Method)
		}
	}
}
