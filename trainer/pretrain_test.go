package trainer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"driftlab/trainer/trainertest"
)

// TestPretrain learns the demonstrations, alike on any number of workers.
func TestPretrain(t *testing.T) {
	r := trainertest.Recipe(t, "task={name: addition, difficulty: [1, 1]}", "rollout.max_tokens=16", "pretrain={steps: 40, batch: 16, optimizer: {lr: 1e-2}}").Resolved()
	var losses []float64
	first, err := Pretrain(context.Background(), r, Options{Progress: func(p Progress) {
		if p.Steps != 40 || p.Step != len(losses)+1 {
			t.Errorf("progress %+v after %d", p, len(losses))
		}
		losses = append(losses, p.Loss)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if tail := (losses[36] + losses[37] + losses[38] + losses[39]) / 4; len(losses) != 40 || first.Loss != tail || first.Loss > 0.7*losses[0] {
		t.Errorf("loss %v in the end, its last steps %v, at first %v", first.Loss, tail, losses[0])
	}
	for _, rate := range []PassRate{first.Sampled, first.Greedy} {
		if rate.Length < 1 || rate.Length > 16 || rate.Finished < 0 || rate.Finished > 1 || rate.Rate < 0 || rate.Rate > 1 {
			t.Errorf("evaluation %+v", rate)
		}
	}
	again, err := Pretrain(context.Background(), r, Options{Workers: 3})
	if err != nil || !slices.Equal(first.Params.Theta, again.Params.Theta) || again.Sampled != first.Sampled || again.Loss != first.Loss {
		t.Errorf("three workers: %v, %+v instead of %+v", err, again, first)
	}
}

// TestPretrainStops ends with a cancelled context and with a value that is not finite.
func TestPretrainStops(t *testing.T) {
	r := trainertest.Recipe(t, "learner.numerics=fp16", "learner.loss_scale.mode=none", "pretrain={steps: 4, batch: 4}").Resolved()
	ctx, cancel := context.WithCancel(context.Background())
	if _, err := Pretrain(ctx, r, Options{Progress: func(Progress) { cancel() }}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	r.Pretrain.Optimizer.LR = 1e9
	var step *StepError
	if _, err := Pretrain(context.Background(), r, Options{}); !errors.As(err, &step) || step.Step != 2 || !strings.Contains(err.Error(), "fp16") {
		t.Errorf("a rate of 1e9: %v", err)
	}
}
