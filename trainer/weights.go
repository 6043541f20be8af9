package trainer

import (
	"cmp"
	"fmt"

	"driftlab/model"
	"driftlab/trainer/cluster"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/recipe"
)

// Prepare loads the first weights of a resolved recipe, scaled as it says.
func Prepare(r recipe.Recipe) (recipe.Recipe, *model.Params, error) {
	var p *model.Params
	if r.Checkpoint == "" {
		r = r.Resolved()
		if err := r.Validate(); err != nil {
			return r, nil, err
		}
		p = model.New(r.Model)
		p.Init(r.Seed)
	} else {
		c, err := model.Open(r.Checkpoint)
		if err != nil {
			return r, nil, err
		}
		p = c.Params
		if r, err = r.ResolvedFor(p.Config); err != nil {
			return r, nil, err
		}
	}
	scaleInvariant(p, r.InvariantScale)
	addLoRA(r, p)
	return r, p, nil
}

// addLoRA puts the adapters of a recipe next to the first weights.
func addLoRA(r recipe.Recipe, p *model.Params) {
	if l := r.LoRA; l != nil {
		p.AddLoRA(l.Rank, l.Alpha, l.Adapts, r.Seed)
	}
}

// openTeacher loads the weights of a recipe's teacher, nil if it has none.
func openTeacher(r recipe.Recipe) (*model.Params, error) {
	if r.Teacher == "" {
		return nil, nil
	}
	p, err := openBeside(r, "teacher", r.Teacher)
	if err == nil && r.Needs(batch.DistTeacher) && p.Config.Vocab != r.Model.Vocab {
		err = recipe.Faults{{Path: "teacher", Problem: fmt.Sprintf("%s has a vocabulary of %d, the run of %d: a term that compares whole distributions takes equal ones", r.Teacher, p.Config.Vocab, r.Model.Vocab)}}
	}
	return p, err
}

// openBeside loads the weights of a model that reads a run's sequences in addition to the
// policy, which the recipe names at a field.
func openBeside(r recipe.Recipe, field, name string) (*model.Params, error) {
	fault := func(format string, args ...any) (*model.Params, error) {
		return nil, recipe.Faults{{Path: field, Problem: fmt.Sprintf(format, args...)}}
	}
	c, err := model.Open(name)
	if err != nil {
		return fault("%v", err)
	}
	t := c.Params.Config
	if longest := r.Task.Params.MaxPrompt() + r.Rollout.MaxTokens; t.Vocab < r.Model.Vocab || t.Context < longest {
		return fault("%s has a vocabulary of %d and a context of %d, the run takes %d and %d", name, t.Vocab, t.Context, r.Model.Vocab, longest)
	}
	return c.Params, nil
}

// openDrafter loads the weights of a drafter that is another model; nil for none
// and for the policy itself.
func openDrafter(r recipe.Recipe) (*model.Params, error) {
	s := r.Rollout.Speculative
	if s == nil || s.Drafter == recipe.DrafterSelf {
		return nil, nil
	}
	c, err := model.Open(s.Drafter)
	if err == nil && c.Params.Config.Vocab != r.Model.Vocab {
		err = fmt.Errorf("%s has a vocabulary of %d, the run of %d", s.Drafter, c.Params.Config.Vocab, r.Model.Vocab)
	}
	if err == nil && c.Params.Config.HasLayer(model.LinearAttention) {
		err = fmt.Errorf("%s has linear attention, whose state cannot take drafts back: use another drafter", s.Drafter)
	}
	if err == nil && c.Params.Config.HasLayer(model.SparseAttention) {
		err = fmt.Errorf("%s has sparse attention, whose choices are those of whole responses: use another drafter", s.Drafter)
	}
	if err != nil {
		return nil, recipe.Faults{{Path: "rollout.speculative.drafter", Problem: err.Error()}}
	}
	return c.Params, nil
}

// openPartner loads the weights of a model whose logits are mixed in; nil for none and
// for the policy itself.
func openPartner(r recipe.Recipe) (*model.Params, error) {
	f := r.Rollout.Fusion
	if f == nil || f.With == recipe.FusedWithSelf {
		return nil, nil
	}
	return openBeside(r, "rollout.fusion.with", f.With)
}

// Check opens the other models that a resolved recipe names, its teacher, its drafter
// and one whose logits are mixed in, and returns as recipe.Faults what is wrong with them, or with what its
// schedule asks of the rollout engines, so that it is said before any work starts.
func Check(r recipe.Recipe) error {
	if r.OnClock() {
		if err := cluster.Check(r); err != nil {
			return err
		}
	}
	if _, err := openTeacher(r); err != nil {
		return err
	}
	if _, err := openPartner(r); err != nil {
		return err
	}
	_, err := openDrafter(r)
	return err
}

// scaleInvariant divides the weights after each layer's norms by s and
// multiplies the norms' gains by it. The function stays the same, up to rounding,
// and exactly for a power of two. The error of quantised weights shrinks with
// them, while an optimiser that normalises its steps moves them as far as before:
// UAQ (QuRL, arXiv:2602.13953).
func scaleInvariant(p *model.Params, s float64) {
	factor := float32(s)
	for l := range p.Config.Layers {
		y := p.Layer(l)
		divided := append([][]float32{y.QKV, y.Router}, y.W13...)
		for _, w := range divided {
			for i := range w {
				w[i] /= factor
			}
		}
		for _, gains := range [][]float32{y.InputNorm, y.PostNorm} {
			for i := range gains {
				gains[i] *= factor
			}
		}
	}
}

// Weights are the weights of a run at one moment.
type Weights struct {
	// Current are the weights of both engines, Calibrated the ones at which the scales of a
	// static KV cache were last found, and Drafter the drafter's.
	Current, Calibrated, Drafter *model.Params
	// Prefixes are the ones that read the prompts in a shared prefix cache that no sync
	// empties, Updates before the current ones; nil and 0 for others.
	Prefixes *model.Params
	Updates  int
	// Missed are the ones in the place of tensors that a partial sync did not bring, and Sync
	// its number; nil where it is whole.
	Missed *model.Params
	Sync   int
}

// BeforeMeasurement returns the weights of a run whose KV scales, the prompts in its prefix
// cache, or the tensors that a weight sync misses, are as old as the recipe lets them get,
// and whose adapters are as far as they get: it makes the steps from one calibration to the
// last before the next, or all but the last where a cache is not emptied, a sync is partial
// or adapters are trained, and draws up the drafter for that one. Where nothing gets old, nothing is trained.
func BeforeMeasurement(r recipe.Recipe, p *model.Params, workers int) (Weights, error) {
	drafter, err := openDrafter(r)
	if err != nil {
		return Weights{}, err
	}
	if r.LoRA != nil && p.LoRA == nil {
		p = p.Clone()
		addLoRA(r, p)
	}
	w, steps := Weights{Current: p, Calibrated: p, Drafter: cmp.Or(drafter, p)}, 0
	if k := r.Rollout.KVScales; k.Prompts > 0 {
		steps = k.Every - 1
	}
	if r.Rollout.StalePrefixes() { // these two do not go together
		steps, w.Prefixes = r.Steps-1, p
	}
	if r.Rollout.WeightSync.Partial(r.Steps - 1) {
		steps, w.Sync = r.Steps-1, r.Steps-1
	}
	if r.LoRA != nil { // at the start they change nothing
		steps = max(steps, r.Steps-1)
	}
	if steps == 0 {
		return w, nil
	}
	r.Eval.Every, r.Steps = 0, max(r.Steps, steps+1)
	w.Current = p.Clone()
	s, err := NewSession(r, w.Current, Options{Workers: workers})
	if err != nil {
		return w, err
	}
	defer s.Close()
	for step := range steps {
		if w.Sync > 0 && step == r.Rollout.WeightSync.Keeps() {
			w.Missed = w.Current.Clone()
		}
		if err := s.Step(step); err != nil {
			return w, &StepError{Step: step + 1, Err: err}
		}
	}
	if w.Prefixes != nil || w.Missed != nil {
		w.Updates = s.learner.Updates()
	}
	if s.speculation != nil {
		s.prepareDrafter(steps, s.learner.Updates(), w.Current)
		w.Drafter = s.speculation.params
	}
	return w, nil
}
