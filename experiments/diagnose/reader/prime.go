package reader

import (
	"fmt"
	"math"

	"driftlab/precision/elementary"
)

// prime is prime-rl's token_exports/step_{s}/rank_{r}.jsonl. The trainer's column
// is that of the training forward: it is taken for the old policy's, too, and then
// contains staleness.
//
// Source: prime-rl, src/prime_rl/trainer/rl/token_export.py.
var prime = lineFormat{
	name: "prime", marks: []string{"schema_version", "loss_mask"}, anyOf: []string{"inference_logprobs", "trainer_logprobs"},
	keys: []key{
		{"schema_version", numbers}, {"step", numbers}, {"export_sequence_idx", numbers}, {"env_name", texts}, {"token_ids", numbers},
		{"loss_mask", numbers}, {"advantages", numbers}, {"inference_logprobs", numbers}, {"trainer_logprobs", numbers},
		{"rl_weights", numbers}, {"ref_kl_weights", numbers},
		{"mismatch_kl", numbers}, {"log_importance_ratio", numbers}, {"importance_ratio", numbers}, {"prob_delta", numbers},
		{"entropy", numbers}, {"is_masked", numbers}, {"ref_logprobs", numbers}, {"rank", texts},
	},
	also:   [][]string{{"entropy", "entropies"}},
	notes:  []string{"trainer_logprobs are the training forward's, taken for the old policy's: the gap contains staleness"},
	stable: "STABLE",
	rows:   primeRow,
}

func primeRow(o *record, row *Row, visit func() error) error {
	mask := o.column("loss_mask")
	rl, ref := o.column("rl_weights"), o.column("ref_kl_weights")
	for name, c := range map[string][]float64{"rl_weights": rl, "ref_kl_weights": ref} {
		if c != nil && len(c) != len(mask) {
			return fmt.Errorf("%s has %d entries, the mask %d", name, len(c), len(mask))
		}
	}
	row.Step, row.Index, row.Env = o.whole("step"), o.whole("export_sequence_idx"), o.word("env_name")
	row.Worker = o.word("rank")
	full := fullRow{ref: "ref_logprobs", entropy: "entropy", masked: "is_masked", n: len(mask), long: len(mask), newIs: true, mask: func(i int) bool {
		reinforced := rl == nil || rl[i] != 0 // null is NaN, and trained
		return mask[i] == 1 && (reinforced || ref != nil && ref[i] == ref[i] && ref[i] != 0)
	}}
	row.odd = o.disagreement(mask)
	return full.fill(row, o, "token_ids", "inference_logprobs", "trainer_logprobs", "advantages", visit)
}

// derivedTolerance is how far the columns that the writer derived may be off.
const derivedTolerance = 1e-4

// disagreement recomputes the writer's columns on the trained tokens, and says
// where they are something else.
func (o *record) disagreement(mask []float64) string {
	roll, trainer := o.column("inference_logprobs"), o.column("trainer_logprobs")
	for _, d := range []struct {
		name string
		of   func(roll, trainer float64) float64
	}{
		{"log_importance_ratio", func(r, t float64) float64 { return t - r }},
		{"importance_ratio", func(r, t float64) float64 { return elementary.Exp(t - r) }},
		{"mismatch_kl", func(r, t float64) float64 { return elementary.Expm1(t-r) - (t - r) }},
		{"prob_delta", func(r, t float64) float64 { return elementary.Exp(t) - elementary.Exp(r) }},
	} {
		column := o.column(d.name)
		if len(column) != len(mask) || len(roll) != len(mask) || len(trainer) != len(mask) {
			continue
		}
		for i, have := range column {
			want := d.of(roll[i], trainer[i])
			if mask[i] == 1 && math.Abs(have-want) > derivedTolerance*max(1, math.Abs(want)) {
				return fmt.Sprintf("%s of token %d is %v, and %v by the two log-probs", d.name, i, have, want)
			}
		}
	}
	return ""
}
