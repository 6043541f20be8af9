package diagnose

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/recipe"
)

// Evaluation is what the configured loss and correction make of the tokens. The weight of a token is its gradient
// divided by the one that the same loss has where all policies agree: there every ratio is 1, and the
// loss is an uncorrected policy gradient with an aggregation of its own.
type Evaluation struct {
	Loss string `json:"loss"`
	// Mean and Median are of the tokens' weights, or of the responses' where PerResponse says that each has one for all of its tokens; ESS is
	// (Σw)²/(nΣw²) over tokens.
	PerResponse bool    `json:"per_response"`
	Mean        float64 `json:"mean_weight"`
	Median      float64 `json:"median_weight"`
	ESS         float64 `json:"ess"`
	// Masked is the share of tokens that a mask leaves out, Clipped that of others without a gradient.
	Masked  float64 `json:"masked"`
	Clipped float64 `json:"clipped"`
	// Low and High are the least and the greatest weight above 0 with the share of the tokens, or of the responses, that have it, if several do: a bound.
	Low  *Bound `json:"low_bound,omitempty"`
	High *Bound `json:"high_bound,omitempty"`
	// Update is Σ w|g| / Σ |g| with the gradient g of the uncorrected loss: what is left of the update.
	Update float64 `json:"update"`
	// Length has the thirds of the responses by length, the shortest first.
	Length []LengthPart `json:"by_length"`
	// BothSigns says that no advantage is recorded, or all are 0: every token was tried with 1 and with -1, as those of
	// advantage 0 always are.
	BothSigns bool `json:"both_signs"`
	// Missing names what could not be evaluated, and the column that the dump lacks.
	Missing []string `json:"missing"`
}

// LengthPart is a third of the responses by length.
type LengthPart struct {
	// From and To are the least and the greatest number of tokens.
	From    int     `json:"from"`
	To      int     `json:"to"`
	Mean    float64 `json:"mean_weight"`
	Median  float64 `json:"median_weight"`
	Masked  float64 `json:"masked"`
	Clipped float64 `json:"clipped"`

	weights                 []float64
	tokens, masked, clipped int
}

// Bound is a weight that several tokens have because a rule ends there.
type Bound struct {
	Weight float64 `json:"weight"`
	Share  float64 `json:"share"`
}

// parts of the responses by length: short, middle, long.
const lengthParts = 3

// columnWords are columns as users of other trainers know them.
var columnWords = map[batch.Column]string{
	batch.LogpRoll: "log-probs of the rollout engine", batch.LogpOld: "log-probs before the update", batch.Anchor: "log-probs before the update",
	batch.LogpBehaviour: "log-probs under the weights that sampled", batch.Logp: "log-probs of the training forward",
	batch.LogpRef: "log-probs of the reference", batch.LogpTeacher: "log-probs of a teacher", batch.Entropy: "entropies", batch.EntropyOld: "entropies",
	batch.DistRoll: "full distributions", batch.DistOld: "full distributions", batch.Dist: "full distributions", batch.DistRef: "full distributions", batch.DistTeacher: "full distributions",
	batch.RoutesRoll: "routes of the rollout engine", batch.RoutesOld: "routes of the learner", batch.Version: "versions of the weights", batch.Turn: "turns",
	batch.Group: "groups", batch.PromptID: "prompts", batch.Finished: "finish reason", batch.Reward: "rewards", batch.Correct: "label of right responses", batch.Advantage: "advantages",
}

// notEvaluable is why something could not be evaluated: the column that the dump lacks.
func notEvaluable(err error) string {
	var missing *batch.MissingColumn
	if !errors.As(err, &missing) {
		return err.Error()
	}
	words := columnWords[missing.Column]
	if words == "" {
		words = missing.Column.String()
	}
	return "the dump has no " + words
}

// evaluable is a pipeline without the rules that need a column which the dump lacks; missing names these rules. Rejected
// tokens stay in the denominators, so that a weight is not that of a smaller batch.
func (t *trial) evaluable(r recipe.Recipe) (p *correction.Pipeline, missing []string) {
	p = r.Correction.Pipeline()
	p.Mode = r.Mode()
	p.Denominator = correction.Pre
	try := func(one *correction.Pipeline) bool {
		one.Clamp, one.Mode = p.Clamp, p.Mode
		_, err := t.weights(one)
		if err != nil {
			weights, masks := one.Rules()
			if weights != nil {
				masks = append(masks, *weights)
			}
			missing = append(missing, masks[0].Name+": "+notEvaluable(err))
		}
		return err == nil
	}
	if p.Weights != nil && !try(weighted(p.Weights)) {
		p.Weights, p.BatchNormalize = nil, false
	}
	p.Masks = slices.DeleteFunc(p.Masks, func(m correction.Masking) bool { return !try(weighted(nil, m)) })
	p.WeightsAfter = min(p.WeightsAfter, len(p.Masks))
	return p, missing
}

// evaluate runs the loss and the correction of a recipe on the tokens. Every token has a weight, 1
// where the loss has no gradient to weigh.
func (t *trial) evaluate(r recipe.Recipe) (*Evaluation, []float64, error) {
	e := &Evaluation{Loss: r.Loss.Name, Missing: []string{}}
	p, missing := t.evaluable(r)
	e.Missing = append(e.Missing, missing...)
	recorded, signs := t.batch.Advantage, []float64{1}
	switch zero := func(a float64) bool { return a == 0 }; {
	case !t.graded || !slices.ContainsFunc(recorded, func(a float64) bool { return a != 0 }):
		e.BothSigns, recorded, signs = true, make([]float64, t.batch.Tokens()), []float64{1, -1}
	case slices.ContainsFunc(recorded, zero):
		signs = []float64{1, -1}
	}
	policy := r.Loss.New
	if _, err := t.attempt(policy, &correction.Pipeline{Mode: p.Mode}, recorded, 1); err != nil {
		e.Missing = append(e.Missing, fmt.Sprintf("loss %s: %s", r.Loss.Name, notEvaluable(err)))
		policy = func() loss.Loss { return method.New[loss.Reinforce]() }
	} else if !t.updated && r.Learner.Updates() > 1 && r.LossReads(batch.Anchor) {
		e.Missing = append(e.Missing, fmt.Sprintf("the clip of the later updates of loss %s: the dump has no log-probs of the training forward", r.Loss.Name))
	}
	var attempts []*attempt
	for _, sign := range signs {
		x, err := t.attempt(policy, p, recorded, sign)
		if err != nil {
			return nil, nil, err
		}
		attempts = append(attempts, x)
	}
	weights := make([]float64, t.batch.Tokens())
	for n := range weights {
		for _, x := range attempts {
			weights[n] += x.weight[n] / float64(len(attempts))
		}
		if math.IsNaN(weights[n]) {
			weights[n] = 1
		}
	}
	if !e.BothSigns && len(attempts) == 2 { // a token of advantage 0 has the mean of both, and is masked if it is in both
		for n, other := range attempts[1].masked {
			if recorded[n] == 0 {
				attempts[0].weight[n], attempts[0].masked[n], attempts[0].gradient[n] = weights[n], attempts[0].masked[n] && other, 0
			}
		}
		attempts = attempts[:1]
	}
	weighting, _ := p.Rules()
	e.PerResponse = weighting != nil && weighting.Unit == method.Sequence || r.Loss.Spec().Unit == method.Sequence
	t.summarise(e, attempts)
	return e, weights, nil
}

// attempt are the tokens' weights, NaN where the loss has no gradient to weigh, which of them a mask leaves out, and the size of
// the gradient where all policies agree.
type attempt struct {
	weight, gradient []float64
	masked           []bool
}

// attempt runs a loss and a correction once, with a sign in the place of advantages of 0.
func (t *trial) attempt(policy func() loss.Loss, p *correction.Pipeline, advantage []float64, sign float64) (*attempt, error) {
	signed := slices.Clone(advantage)
	for n, a := range signed {
		if a == 0 {
			signed[n] = sign
		}
	}
	plain, _, err := t.gradient(policy(), &correction.Pipeline{}, signed, true)
	if err != nil {
		return nil, err
	}
	actual, off, err := t.gradient(policy(), p, signed, false)
	if err != nil {
		return nil, err
	}
	x, some := &attempt{weight: actual, gradient: plain, masked: off}, false
	for n, g := range plain {
		x.weight[n], x.gradient[n] = actual[n]/g, math.Abs(g)
		if some = some || g != 0; g == 0 || math.IsInf(x.weight[n], 0) {
			x.weight[n] = math.NaN()
		}
	}
	if !some {
		return nil, errors.New("it has no gradient on these responses where all policies agree")
	}
	return x, nil
}

func (t *trial) summarise(e *Evaluation, attempts []*attempt) {
	parts := make([]LengthPart, lengthParts)
	total := LengthPart{}
	var acting []float64 // of tokens, or responses, with an advantage
	var n, sum, squares, kept, whole float64
	for _, x := range attempts {
		for i := range t.batch.Len() {
			from, to := t.batch.Span(i)
			part := &parts[t.groups.terciles[i]]
			if part.From == 0 || to-from < part.From {
				part.From = to - from
			}
			part.To = max(part.To, to-from)
			mean, count, size := 0.0, 0, 0.0
			for at := from; at < to; at++ {
				w := x.weight[at]
				if math.IsNaN(w) {
					continue
				}
				mean, count = mean+w, count+1
				for _, to := range []*LengthPart{&total, part} {
					to.count(w, x.masked[at])
					if !e.PerResponse {
						to.weights = append(to.weights, w)
					}
				}
				n, sum, squares = n+1, sum+w, squares+float64(w*w)
				if size += x.gradient[at]; !e.PerResponse && x.gradient[at] > 0 {
					acting = append(acting, w)
				}
				kept, whole = kept+float64(w*x.gradient[at]), whole+x.gradient[at]
			}
			if e.PerResponse && count > 0 {
				mean /= float64(count)
				total.weights, part.weights = append(total.weights, mean), append(part.weights, mean)
				if size > 0 {
					acting = append(acting, mean)
				}
			}
		}
	}
	e.Low, e.High = bounds(acting, len(attempts))
	total.close()
	e.Mean, e.Median, e.Masked, e.Clipped = total.Mean, total.Median, total.Masked, total.Clipped
	e.ESS, e.Update = effective(sum, squares, n), kept/max(whole, math.SmallestNonzeroFloat64)
	for i := range parts {
		if len(parts[i].weights) > 0 {
			parts[i].close()
			e.Length = append(e.Length, parts[i])
		}
	}
}

// bounds are those that weights have, nil where no two tokens, or responses, have one; each of them was tried as often as tries says.
func bounds(weights []float64, tries int) (low, high *Bound) {
	slices.Sort(weights)
	first, _ := slices.BinarySearch(weights, math.SmallestNonzeroFloat64)
	weights = weights[first:]
	if len(weights) == 0 || weights[len(weights)-1]-weights[0] <= rounding {
		return nil, nil
	}
	n, last := len(weights), len(weights)-1
	from, _ := slices.BinarySearch(weights, weights[0]+rounding)
	to, _ := slices.BinarySearch(weights, weights[last]-rounding)
	if from > tries {
		low = &Bound{weights[0], share(from, n)}
	}
	if n-to > tries {
		high = &Bound{weights[last], share(n-to, n)}
	}
	return low, high
}

// rounding is how far weights are apart that are equal but for their last digits.
const rounding = 1e-9

func (p *LengthPart) count(w float64, masked bool) {
	p.tokens++
	switch {
	case masked:
		p.masked++
	case w == 0:
		p.clipped++
	}
}

func (p *LengthPart) close() {
	slices.Sort(p.weights)
	for _, w := range p.weights {
		p.Mean += w / float64(len(p.weights))
	}
	p.Median, p.Masked, p.Clipped = quantile(p.weights, 0.5)+0, share(p.masked, p.tokens), share(p.clipped, p.tokens)
	p.weights = nil
}

// gradient is d loss/d logp of every token after the correction, and which tokens a mask of the correction or of the loss
// leaves out. agree puts the log-probs of the training forward in the place of all others.
func (t *trial) gradient(l loss.Loss, p *correction.Pipeline, advantage []float64, agree bool) (dlogp []float64, off []bool, err error) {
	b := *t.batch
	b.Advantage = advantage
	if agree {
		b.LogpRoll, b.Old.Logp, b.Anchor, b.Behaviour.Logp = b.Now.Logp, b.Now.Logp, b.Now.Logp, b.Now.Logp
	}
	for _, stage := range []correction.Stage{correction.AtBatch, correction.AtStep} {
		if err := p.Apply(&b, stage); err != nil {
			return nil, nil, err
		}
	}
	out := &loss.Grad{}
	if err := l.Eval(out, &b); err != nil {
		return nil, nil, err
	}
	off = make([]bool, b.Tokens())
	rejected := out.Rejected()
	for n := range off {
		off[n] = !b.LossMask[n] || b.Gate != nil && !b.Gate[n] || rejected != nil && rejected[n]
	}
	return out.DLogp, off, nil
}

// weighsByRollout reports whether the loss itself corrects the gap of the engines: its gradient depends on the rollout engine's
// log-probs, as they stand or in the place of the old policy's.
func weighsByRollout(r recipe.Recipe) bool {
	return r.LossReads(batch.LogpRoll) || r.Anchored() == recipe.AnchorRollout && r.LossReads(batch.Anchor)
}
