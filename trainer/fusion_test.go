package trainer

import (
	"slices"
	"strings"
	"testing"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/recipe"
	"driftlab/trainer/trainertest"
)

// TestFusionOff leaves a run as it is where there is nothing to mix: with the policy
// itself in its own numerics, with no share, once the share has decayed, and for prompts
// that are too easy; to the bit, in every figure but its own.
func TestFusionOff(t *testing.T) {
	common := []string{"steps=3", "rollout.numerics=bf16", "loss=logit_fusion", "schedule={name: lag, k: 1}"}
	run := func(sets ...string) (figures []batch.Metric, theta []float32) {
		s := sessionOf(t, Options{}, slices.Concat(common, sets)...)
		steps(t, s, 3, func(int) {
			for _, m := range s.metrics {
				if !strings.HasPrefix(m.Name, "rollout/fusion_") {
					figures = append(figures, m)
				}
			}
		})
		return figures, s.learner.Params().Theta
	}
	want, weights := run()
	for _, set := range []string{
		"{alpha: 0.7}",
		"{numerics: bf16, alpha: 1}",
		"{numerics: fp4-all, alpha: 0}",
		"{numerics: fp4-all, alpha: 0.5, difficulty: [90, 99]}",
		"{with: " + trainertest.Model(t) + ", alpha: 0}",
	} {
		got, theta := run("rollout.fusion=" + set)
		if !slices.Equal(got, want) || !slices.Equal(theta, weights) {
			t.Errorf("%s: the run is another", set)
		}
	}
}

// TestFusionActs samples from the mixture, less of it at every step, and records that
// distribution: a ratio to it shows the gap that a ratio to the policy would hide.
func TestFusionActs(t *testing.T) {
	s := sessionOf(t, Options{}, "rollout.fusion={with: "+trainertest.Model(t)+", alpha: 0.8, until: 4}", "loss=logit_fusion")
	var alpha, tv, gap []float64
	steps(t, s, 5, func(int) {
		alpha, tv, gap = append(alpha, s.figure(t, "rollout/fusion_alpha")), append(tv, s.figure(t, "rollout/fusion_tv")), append(gap, s.figure(t, "gap/k3"))
	})
	if !slices.EqualFunc(alpha, []float64{0.8, 0.6, 0.4, 0.2, 0}, func(a, b float64) bool { return a-b < 1e-12 && b-a < 1e-12 }) {
		t.Errorf("shares %v", alpha)
	}
	for k := range 4 {
		if !(tv[k] > tv[k+1] && gap[k] > gap[k+1]) {
			t.Errorf("shifts %v, gaps %v do not fall", tv, gap)
		}
	}
	if tv[4] != 0 || gap[4] != 0 {
		t.Errorf("at the end a shift of %v, a gap of %v", tv[4], gap[4])
	}
}

// TestFusionByDifficulty gives a prompt its share by its difficulty and the step.
func TestFusionByDifficulty(t *testing.T) {
	f := recipe.Fusion{Alpha: 0.8, Until: 100, Difficulty: [2]int{3, 8}}
	for _, c := range []struct {
		step, difficulty int
		want             float64
	}{{0, 8, 0.8}, {0, 3, 0}, {0, 2, 0}, {0, 12, 0.8}, {25, 8, 0.6}, {50, 4, 0.08}, {100, 8, 0}, {700, 8, 0}} {
		if got := f.Share(c.step, c.difficulty); got-c.want > 1e-12 || c.want-got > 1e-12 {
			t.Errorf("step %d, difficulty %d: %v, want %v", c.step, c.difficulty, got, c.want)
		}
	}
	if f.Until, f.Difficulty = 0, [2]int{}; f.Share(1000, 1) != 0.8 {
		t.Errorf("without decay: %v", f.Share(1000, 1))
	}
}

// TestFusionWithNothing says before any work starts that there is no such model.
func TestFusionWithNothing(t *testing.T) {
	err := Check(trainertest.Recipe(t, "rollout.fusion={with: nobody}").Resolved())
	if err == nil || !strings.Contains(err.Error(), "rollout.fusion.with") {
		t.Errorf("%v", err)
	}
}
