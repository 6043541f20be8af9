package foreign

import (
	"slices"
	"strings"
	"testing"
)

// What a framework has is written, and what it has not is named.
func TestWriteChanged(t *testing.T) {
	for _, c := range []struct {
		framework, changes, text, notes string
	}{
		{"verl", "correction={weights: {name: sequence_tis, cap: 5}}", "rollout_is: sequence, rollout_is_threshold: 5.0", ""},
		{"trl", "correction={weights: {name: sequence_tis, cap: 5}}", `mode="sequence_truncate"`, ""},
		{"verl", "routing={replay: r3}", "mode: R3", ""},
		{"verl", "routing={replay: r3, gates: recorded}", "", "verl's setting for routing.gates is not written here"},
		{"verl", "correction={masks: [{name: opsm, delta: 0.5}]}", "", "verl has no mask opsm"},
		{"trl", "correction={masks: [{name: opsm, delta: 0.5}]}", "off_policy_mask_threshold=0.5", ""},
		{"verl", "loss={name: gspo, eps_low: 3e-4, eps_high: 4e-4}", "actor: {policy_loss: {loss_mode: gspo}, clip_ratio_low: 0.0003, clip_ratio_high: 0.0004}", ""},
		{"verl", "loss={name: cispo, eps_high: 0.3}", "loss_mode: cispo}, clip_ratio_low: 10, clip_ratio_high: 0.3", ""},
		{"trl", "loss={name: gspo}", `importance_sampling_level="sequence", epsilon=0.0003, epsilon_high=0.0004`, ""},
		{"trl", "loss={name: cispo, eps_high: 0.2}", `loss_type="cispo", epsilon_high=1.2`, ""},
		{"trl", "loss={name: sapo}", `loss_type="sapo", sapo_temperature_pos=1, sapo_temperature_neg=1.05`, ""},
		{"verl", "learner.minibatches=4", "data: {train_batch_size: 8} # with another: ppo_mini_batch_size = train_batch_size / 4\nalgorithm: {rollout_correction: {rollout_is: null}}\nactor_rollout_ref: {rollout: {calculate_log_probs: true}, actor: {ppo_mini_batch_size: 2}}", ""},
		{"skyrl", "learner.minibatches=4", "train_batch_size: 8, policy_mini_batch_size: 2", ""},
		{"slime", "learner.minibatches=4", "--num-steps-per-rollout 4", ""},
		{"verl", "anchor=ewma", "", "verl's setting for anchor is not written here"},
		{"slime", "correction={masks: [{name: geometric}]}", "", "slime has no mask geometric without weights: mis.yaml masks only next to them (use_tis)"},
		{"slime", "guards=[{name: ess_lr}]", "", "slime's setting for guards is not written here"},
		{"prime-rl", "loss={name: ipo, delta: 0.05, kl_tau: 0, log_clamp: 0}", "type = \"ipo\"\neps = 0.05", ""},
		{"prime-rl", "loss.name=prime_dppo loss.delta_low=0.05 loss.delta_high=0.05", "", "prime-rl's setting for loss is not written here"},
		{"trl", "loss={name: prime_dppo}", "", "trl's setting for loss is not written here"},
	} {
		changes := []string{c.changes}
		if !strings.Contains(c.changes, "{") {
			changes = strings.Fields(c.changes)
		}
		text, notes, err := WriteChanged(c.framework, "headline", changes)
		if err != nil {
			t.Fatal(err)
		}
		if c.text == "" && text != "" || !strings.Contains(text, c.text) {
			t.Errorf("%s, %s: %q", c.framework, c.changes, text)
		}
		if c.notes == "" && len(notes) > 0 || c.notes != "" && !slices.Contains(notes, c.notes) {
			t.Errorf("%s, %s: notes %q", c.framework, c.changes, notes)
		}
	}
}
