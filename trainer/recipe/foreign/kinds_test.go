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
