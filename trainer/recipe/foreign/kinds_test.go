package foreign

import (
	"strings"
	"testing"
)

// TestReasonOfNumbers says of no number format and no micro-batch that it is placement, in any framework's tables.
func TestReasonOfNumbers(t *testing.T) {
	for _, f := range frameworks() {
		for _, e := range f.table.prefixes {
			if e.reason != "place" && e.reason != "model" || formatKeys.MatchString(e.key) {
				continue
			}
			for leaf, want := range map[string]string{"some_dtype": "format", "kv_cache_dtype": "format", "x_micro_batch_size_per_gpu": "micro", "attention_backend": e.reason} {
				if got := trueReason(e.reason, e.key+leaf); got != want {
					t.Errorf("%s: %s%s: %s, want %s", f.name, e.key, leaf, got, want)
				}
			}
		}
	}
}

// TestLoRA reads rank and alpha of each framework that has adapters.
func TestLoRA(t *testing.T) {
	for _, c := range []struct{ name, file, text string }{
		{"verl", "a.sh", "python -m verl.trainer.main_ppo actor_rollout_ref.model.lora_rank=16 actor_rollout_ref.model.lora_alpha=24 algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=4"},
		{"slime", "a.sh", "python3 train.py --use-tis --lora-rank 16 --lora-alpha 24 --n-samples-per-prompt 4"},
		{"openrlhf", "a.sh", "python3 -m openrlhf.cli.train_ppo_ray --ds.lora.rank 16 --ds.lora.alpha 24 --rollout.n_samples_per_prompt 4"},
		{"nemo-rl", "a.yaml", "policy: {megatron_cfg: {peft: {enabled: true, dim: 16, alpha: 24}}}\nloss_fn: {ratio_clip_min: 0.2}\n"},
		{"trl", "a.py", "GRPOConfig(use_peft=True, lora_r=16, lora_alpha=24, num_generations=4)"},
		{"ms-swift", "a.sh", "swift rlhf --rlhf_type grpo --train_type lora --lora_rank 16 --lora_alpha 24 --num_generations 4"},
		{"areal", "a.yaml", "actor: {lora_rank: 16, lora_alpha: 24, use_decoupled_loss: true, eps_clip: 0.2}\ngconfig: {n_samples: 4}\n"},
	} {
		got, err := ReadAs(c.name, c.file, []byte(c.text))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if all := strings.Join(got.Assignments(), "\n"); !strings.Contains(all, "lora={rank: 16, alpha: 24}") {
			t.Errorf("%s: no adapters in\n%s\n%s", c.name, all, got.Table())
		}
	}
}

// TestLoRARankTooLarge leaves a rank that the recipe's model has no room for, with the reason, and keeps the rest.
func TestLoRARankTooLarge(t *testing.T) {
	got, err := ReadAs("openrlhf", "a.sh", []byte("python3 -m openrlhf.cli.train_ppo_ray --ds.lora.rank 4000 --rollout.n_samples_per_prompt 4"))
	if err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(got.Assignments(), "\n"); strings.Contains(all, "lora") || !strings.Contains(all, "rollout.group=4") {
		t.Errorf("got\n%s", all)
	}
	if !strings.Contains(got.Table(), "a recipe refuses lora={rank: 4000}: 4000 is more than") {
		t.Errorf("no reason:\n%s", got.Table())
	}
}

// TestLogProbsNotSet has verl's correction off where its default leaves out the engine's log-probs, and on in bypass mode.
func TestLogProbsNotSet(t *testing.T) {
	const rest = "actor_rollout_ref: {rollout: {n: 4}}\n"
	for _, c := range []struct {
		text string
		off  bool
	}{
		{"algorithm: {rollout_correction: {rollout_is: token}}\n" + rest, true},
		{"algorithm: {rollout_correction: {rollout_is: token, bypass_mode: true, loss_type: reinforce}}\n" + rest, false},
		{"algorithm: {rollout_correction: {rollout_is: token}}\nactor_rollout_ref: {rollout: {n: 4, calculate_log_probs: true}}\n", false},
		{"rollout_is: token\n", false}, // the inside of the section says nothing of what is outside it
	} {
		got, err := Read("a.yaml", []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		if (got.Off != "") != c.off {
			t.Errorf("%q: off %q", c.text, got.Off)
		}
	}
}
