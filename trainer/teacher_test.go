package trainer

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"driftlab/model"
	"driftlab/trainer/trainertest"
)

// otherModel saves a model unlike tiny's as a teacher.
func otherModel(t *testing.T) string {
	t.Helper()
	c := trainertest.Recipe(t).Resolved().Model
	c.Layers, c.Experts, c.TopK = 2, 1, 0
	p := model.New(c)
	p.Init(7)
	dir := filepath.Join(t.TempDir(), "teacher")
	must(t, model.Save(dir, p, model.Extras{}))
	return dir
}

// guidedSession is a session of a section distillation, before its learning.
func guidedSession(t *testing.T, dir, section string, sets ...string) *Session {
	t.Helper()
	s := sessionOf(t, Options{}, append([]string{"teacher=" + dir, "distillation=" + section}, sets...)...)
	if s.recipe.Distillation.Advantage == "none" {
		runTo(t, s, 0, "correction")
	} else {
		runTo(t, s, 0, "distillation")
	}
	return s
}

// TestGuided: the teacher says of the responses it reads what it says without a
// section, and of the others what the learner does; the horizon bounds what is guided,
// and at random it reads as many.
func TestGuided(t *testing.T) {
	dir := otherModel(t)
	all := guidedSession(t, dir, "{advantage: none}", "terms=[distill_k2]")
	for _, section := range []string{"{horizon: 3}", "{failed: true}", "{failed: true, pass_rate: 0}", "{pass_rate: 0.3, random: true}"} {
		s := guidedSession(t, dir, section)
		b, o := &s.batch, s.recipe.Distillation
		read := stageOf[*teacher](s).chosen
		for i := range b.Len() {
			at := 0
			for n := range b.Where(i, b.Mask) {
				want := all.batch.Teacher.Logp[n]
				if !read[i] {
					want = b.Old.Logp[n]
				}
				if b.Teacher.Logp[n] != want {
					t.Fatalf("%s: response %d, token %d: the teacher says %v, want %v", section, i, n, b.Teacher.Logp[n], want)
				}
				if guided := read[i] && (o.Horizon == 0 || at < o.Horizon); b.Guided[n] != guided {
					t.Fatalf("%s: response %d, token %d is guided: %v", section, i, at, b.Guided[n])
				}
				at++
			}
			if read[i] && o.Failed && !o.Random && b.Correct[i] {
				t.Errorf("%s: reads the right response %d", section, i)
			}
		}
		if share := s.figure(t, "opd/responses"); share*float64(b.Len()) != float64(len(stageOf[*teacher](s).rows)) {
			t.Errorf("%s: a share of %v for %d rows", section, share, len(stageOf[*teacher](s).rows))
		}
	}
}

// TestGuidance puts the teacher signal in the place of guided advantages and leaves
// the others: separate it has mean 0 and deviation 1, scaled it keeps every sign, joint it
// moves the others too.
func TestGuidance(t *testing.T) {
	dir := otherModel(t)
	free := sessionOf(t, Options{})
	runTo(t, free, 0, "advantage")
	for _, how := range []string{"separate", "scaled", "raw", "joint"} {
		s := guidedSession(t, dir, fmt.Sprintf("{advantage: %s, horizon: 4}", how))
		b := &s.batch
		var n, sum, squares float64
		kept, flipped := true, 0.0
		for k, guided := range b.Guided {
			if word := b.Teacher.Logp[k] - b.Old.Logp[k]; guided {
				n, sum, squares = n+1, sum+b.Advantage[k], squares+b.Advantage[k]*b.Advantage[k]
				if word*b.Advantage[k] < 0 {
					flipped++
				}
				if how == "raw" && b.Advantage[k] != word {
					t.Fatalf("raw is %v, not %v", b.Advantage[k], word)
				}
			} else if b.Advantage[k] != free.batch.Advantage[k] {
				kept = false
			}
		}
		if kept == (how == "joint") {
			t.Errorf("%s: other advantages kept: %v", how, kept)
		}
		mean, square := sum/n, squares/n
		switch {
		case how == "separate" && (math.Abs(mean) > 1e-6 || math.Abs(square-1) > 0.05 || flipped == 0):
			t.Errorf("separate: mean %v, square %v, %v flipped", mean, square, flipped)
		case how == "scaled" && (math.Abs(square-1) > 1e-9 || flipped > 0):
			t.Errorf("scaled: square %v, %v flipped", square, flipped)
		}
		if got := s.figure(t, "opd/flipped"); math.Abs(got-flipped/n) > 1e-12 || s.figure(t, "opd/advantage") == 0 {
			t.Errorf("%s: flipped %v, want %v", how, got, flipped/n)
		}
	}
}

// TestDistillationActs: each way to distil moves the weights elsewhere, and says by how
// much it acted.
func TestDistillationActs(t *testing.T) {
	dir := otherModel(t)
	plain := sessionOf(t, Options{})
	steps(t, plain, 2, func(int) {})
	for acts, sets := range map[string][]string{
		"opd/tokens":       {"distillation={}"},
		"actor/kd_share":   {"terms=[distill_k2]"},
		"actor/kd_tokens":  {"terms=[{name: distill_k2, ratio_clip: 2}]", "distillation={advantage: none, horizon: 2}"},
		"actor/gkd_share":  {"terms=[{name: gkd, top_k: 3}]"},
		"actor/gkd_tokens": {"terms=[{name: gkd, direction: reverse}]", "distillation={advantage: none, failed: true}", "schedule={name: lag, k: 2}"},
	} {
		s := sessionOf(t, Options{}, append([]string{"teacher=" + dir}, sets...)...)
		steps(t, s, 2, func(int) {})
		if slices.Equal(plain.learner.Params().Theta, s.learner.Params().Theta) || !(s.figure(t, acts) > 0) {
			t.Errorf("%v changes nothing: %s is %v", sets, acts, s.figure(t, acts))
		}
	}
}

// A teacher that ends its responses with another id than the rollout engine's makes lengths more than double in 30 updates; the same teacher with the
// engine's stop id does not. The figure opd/stop_k1 shows it in the first step.
func TestTeacherWithAnotherStop(t *testing.T) {
	length := map[string]float64{}
	for _, stop := range []string{"same", "other"} {
		r := loaded(t, "headline", "steps=30", "eval.every=0", "rollout.prompts=4", "teacher=chain-base", "distillation={advantage: none, stop: "+stop+"}", "terms=[{name: gkd, coef: 1}]", "rollout.max_tokens=48", "learner.optimizer.lr=1e-3")
		s := sessionIn(t, r, Options{Workers: 1})
		for step := range 30 {
			must(t, s.Step(step))
			for _, m := range s.metrics {
				switch {
				case step == 0 && m.Name == "opd/stop_k1" && (stop == "other") != (m.Value > 5):
					t.Errorf("%s: opd/stop_k1 is %.3f in the first step", stop, m.Value)
				case m.Name == "response_length/mean":
					length[stop] = m.Value
				}
			}
		}
	}
	if length["other"] < 2*length["same"] {
		t.Errorf("responses have %.1f tokens with another stop id, %.1f with the same", length["other"], length["same"])
	}
}
