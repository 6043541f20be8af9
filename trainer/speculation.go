package trainer

import (
	"fmt"

	"driftlab/engine/learner"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/precision/elementary"
	"driftlab/trainer/engines"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/masked"
	"driftlab/trainer/method/metrics"
	"driftlab/trainer/recipe"
)

// speculation is the drafter of a run: its weights, how old they are, and how
// many tokens it drafts.
type speculation struct {
	setting recipe.Speculative
	params  *model.Params
	version int // number of updates before the newest weights it has learned from
	cost    float64
	draft   int // tokens per pass at this step
	// acceptance is the rate of the last step that drafted; known is false until the
	// drafter as it is has drafted once.
	acceptance float64
	known      bool
	measured   metrics.Speculation
	recorded   bool

	learner   *learner.Learner // of a drafter that is distilled, else nil
	batch     batch.Batch      // the step's, with the drafter as the current policy
	objective loss.Objective
}

// draftWith makes the session's engine draft with those weights, which a
// distillation trains in place.
func (s *Session) draftWith(p *model.Params) {
	r := &s.recipe
	set := r.Rollout.Speculative
	n := engines.DrafterNumerics(set, r.Rollout.Numerics)
	d := &speculation{setting: *set, params: p, draft: set.Draft, cost: engines.DraftCost(set, p, s.initial, r.Rollout.Numerics)}
	if set.Distill.Every > 0 {
		o := *method.New[recipe.Optimizer]()
		o.LR, o.Warmup = set.Distill.LR, 0
		d.objective = loss.Objective{Loss: drafterLoss{}, Batch: &d.batch}
		d.learner = learner.New(p, engines.LearnerSettings(recipe.Learner{Numerics: n}, o), s.options.Workers)
	}
	s.fleet.DraftWith(set, p, 0)
	s.speculation = d
}

// prepareDrafter refreshes the drafter if the step is due, and chooses how many
// tokens it drafts.
func (s *Session) prepareDrafter(step, version int, weights *model.Params) {
	d := s.speculation
	if d == nil {
		return
	}
	if every := d.setting.Refresh; every > 0 && step%every == 0 {
		d.params.CopyFrom(weights)
		d.version, d.known = version, false
		if d.learner != nil {
			d.learner.Republish()
		}
	}
	d.draft = d.setting.Draft
	if d.setting.Adaptive && d.known {
		d.draft = fastest(d.acceptance, d.cost, d.setting.Draft)
	}
	s.fleet.PublishDrafter(d.params, d.version, d.draft)
}

// fastest is the number of drafted tokens, up to most, with the largest
// predicted speed; 0, which has speed 1, where none is faster.
func fastest(acceptance, cost float64, most int) int {
	best, speed := 0, 1.0
	for k := 1; k <= most; k++ {
		if x := rollout.Speedup(acceptance, cost, k); x > speed {
			best, speed = k, x
		}
	}
	return best
}

// observe takes up what became of the step's drafts.
func (d *speculation) observe(b *batch.Batch) {
	if d.measured, d.recorded = metrics.CompareDrafts(b); d.measured.Tests > 0 {
		d.acceptance, d.known = d.measured.Acceptance, true
	}
}

// Close releases the drafter's learner.
func (d *speculation) Close() {
	if d.learner != nil {
		d.learner.Close()
	}
}

// run logs the figures of the drafts, their number and the speed predicted for it, and pulls the
// drafter towards the step's rollouts if that is due. Without drafts there is no acceptance to speak of.
func (d *speculation) run(s *Session) error {
	if d.recorded {
		s.metrics = d.measured.Metrics(s.metrics)
	}
	speed := 1.0
	if d.measured.Tests > 0 {
		speed = rollout.Speedup(d.measured.Acceptance, d.cost, d.draft)
	}
	s.log("speculative/draft", float64(d.draft))
	s.log("speculative/speedup", speed)
	if d.learner == nil || (s.batch.Step+1)%d.setting.Distill.Every != 0 {
		return nil
	}
	now := d.batch.Now
	d.batch = s.batch
	d.batch.Now = now
	report, err := d.learner.Gradient(&d.batch.Now, &d.batch.Sampled, &d.objective, learner.StepOptions{
		Policy: learner.Policy{Temperature: s.recipe.Rollout.Temperature, Support: s.recipe.Support.Replay}, Distributions: true})
	if err != nil {
		return fmt.Errorf("drafter: %w", err)
	}
	s.log("speculative/distill_loss", report.Loss)
	if !report.Skipped {
		d.learner.Update(d.setting.Distill.LR)
		d.known = false
		if len(s.batch.Version) > 0 {
			d.version = max(d.version, int(s.batch.Version[0]))
		}
	}
	return d.learner.CheckWeights()
}

// drafterLoss is what a drafter learns from rollouts (ReSpec, arXiv:2510.26475):
//
//	L = Σ_i max(R_i, 0)·Σ_t KL(p_t‖q_t) / tokens,   d L/d logit_a = max(R_i, 0)·(q(a) - p(a)) / tokens
//
// with p the distribution that the rollout engine recorded and q the drafter's.
type drafterLoss struct{}

func (drafterLoss) Eval(out *loss.Grad, b *batch.Batch) error {
	if err := b.Require(batch.Mask, batch.Reward, batch.Dist, batch.DistRoll); err != nil {
		return err
	}
	out.Reset(b.Tokens())
	out.NeedLogits(b.Tokens(), b.Vocab)
	tokens := float64(masked.Count(b.Mask))
	for i := range b.Len() {
		weight := max(b.Reward[i], 0) / max(tokens, 1)
		for n := range b.Where(i, b.Mask) {
			if !(weight > 0) {
				break
			}
			for a := n * b.Vocab; a < (n+1)*b.Vocab; a++ {
				p, q := elementary.Exp(float64(b.DistRoll[a])), elementary.Exp(float64(b.Now.Dist[a]))
				if p > 0 {
					out.Loss += float64(weight * p * (float64(b.DistRoll[a]) - float64(b.Now.Dist[a])))
				}
				out.DLogits[a] = weight * (q - p)
			}
		}
	}
	return nil
}

// AppendState appends what the next step needs: the drafter's version, weights and
// what its acceptance was, and, if it is distilled, the optimiser's state.
func (d *speculation) AppendState(dst []byte) []byte {
	dst = method.AppendState(dst, d.version, d.acceptance, d.known, d.params.Trained())
	if d.learner != nil {
		s := d.learner.State()
		dst = method.AppendState(dst, s.First, s.Second, s.Updates, s.Scale, s.Clean)
	}
	return dst
}

func (d *speculation) SetState(state []byte) error {
	defer d.params.Merge() // what was trained are adapters, if there are any
	numbers := []any{&d.version, &d.acceptance, &d.known, d.params.Trained()}
	if d.learner == nil {
		return method.ReadState(state, numbers...)
	}
	s := d.learner.State()
	if err := method.ReadState(state, append(numbers, s.First, s.Second, &s.Updates, &s.Scale, &s.Clean)...); err != nil {
		return err
	}
	return d.learner.SetState(s)
}
