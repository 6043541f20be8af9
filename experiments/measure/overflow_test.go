package measure

import (
	"context"
	"errors"
	"strings"
	"testing"

	"driftlab/engine"
	"driftlab/engine/learner"
	runner "driftlab/experiments/run"
	"driftlab/precision/must"
	"driftlab/trainer"
)

// wired overflows where partial sums of scaled fp8 numbers travel in fp16.
const wired = `{base: fp8-kv8, reduction: "tensor_parallel:3:tree:fp16"}`

// TestOverflow names step, column, tensor, engine and the format that is too
// narrow, in training, measuring and attributing alike.
func TestOverflow(t *testing.T) {
	for _, tc := range []struct {
		name string
		sets []string
		want []string
	}{
		{"wire", []string{"rollout.numerics=" + wired},
			[]string{"NaN in logp_rollout of response 0, token 0: Inf in layers.0.attention of the rollout engine (fp8-kv8): overflow in the wire format fp16", "rollout.numerics.reduction"}},
		{"fleet", []string{"rollout.fleet=[{numerics: " + wired + ", share: 0.5}]"},
			[]string{"NaN in logp_rollout of response 8, token 0: Inf in layers.0.attention of member 0 of the fleet", "wire format fp16", "rollout.fleet[0].numerics.reduction"}},
		{"learner", []string{"learner.numerics=" + wired},
			[]string{"NaN in logp_old of response 0, token 0: Inf in layers.0.attention of the learner", "wire format fp16", "learner.numerics.reduction"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := measured(t)
			must.Do(t, r.Set(append(tc.sets, "steps=2", "eval.every=0")...))
			_, trained := runner.Run(context.Background(), r, runner.Options{})
			var step *trainer.StepError
			if !errors.As(trained, &step) || step.Step != 1 {
				t.Errorf("training: %v", trained)
			}
			m, measuring := Gaps(context.Background(), GapRequest{Recipe: r})
			if len(m.Pairs) != 0 {
				t.Errorf("measured: %+v", m.Pairs)
			}
			for _, err := range []error{trained, measuring} {
				var value *learner.NonFinite
				if !errors.As(err, &value) || strings.Contains(err.Error(), "\n") {
					t.Fatalf("error %v", err)
				}
				for _, want := range tc.want {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("error %q lacks %q", err, want)
					}
				}
			}
			if tc.name != "wire" {
				return
			}
			if _, err := Attribute(context.Background(), AttributeRequest{Recipe: r}); err == nil || !strings.Contains(err.Error(), tc.want[0]) {
				t.Errorf("attributing: %v", err)
			}
		})
	}
}

// TestOverflowOfOnePair keeps what the other pairs gave.
func TestOverflowOfOnePair(t *testing.T) {
	r := measured(t)
	must.Do(t, r.Set("rollout.numerics="+wired))
	fp32, _ := engine.Preset("fp32")
	m, err := Gaps(context.Background(), GapRequest{Recipe: r, Pairs: []Pair{{r.Rollout.Numerics, fp32}, {fp32, fp32}}})
	if err == nil || !strings.HasPrefix(err.Error(), "fp8-kv8 to fp32: NaN in logp_rollout") || len(m.Pairs) != 1 || m.Pairs[0].Rollout != "fp32" {
		t.Errorf("%v, %+v", err, m)
	}
}
