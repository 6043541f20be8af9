package loss

import (
	"fmt"
	"slices"

	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

// FlowRL matches the policy with the distribution that the rewards and the reference
// define: it squares the violation of trajectory balance.
//
// It reads the mean advantage of a response in the place of its log-reward, and means
// over tokens in the place of sums of log-probs. Importance weights have no effect; a
// token whose gate is closed leaves the means. A response without active tokens trains
// log Z alone.
//
// The source computes log Z by a network on the prompt's hidden states, trained with the
// policy. Here every prompt has a number of its own, 0 at first, which moves with every
// evaluation by the mean gradient of the prompt's responses. A task that draws new
// prompts at every step leaves all of them at 0.
type FlowRL struct {
	// Beta is the coefficient of the advantage (fixed in the source).
	Beta float64 `yaml:"beta" default:"15" range:"[0,inf)"`
	// Cap bounds the ratio of the response from above.
	Cap float64 `yaml:"cap" default:"10" range:"(0,inf]"`
	// LogZRate is the learning rate of log Z: 0.5 with weight 1 moves it to its optimum. The default is ours.
	LogZRate float64 `yaml:"log_z_rate" default:"0.1" range:"[0,1]"`

	prompts []int // sorted
	logZ    []float64
}

// AppendState appends log Z of every prompt.
func (p *FlowRL) AppendState(dst []byte) []byte { return method.AppendState(dst, p.prompts, p.logZ) }

// SetState takes what AppendState appended.
func (p *FlowRL) SetState(state []byte) error {
	if err := method.ReadState(state, &p.prompts, &p.logZ); err != nil {
		return err
	}
	if len(p.prompts) != len(p.logZ) {
		return fmt.Errorf("a state of flowrl has %d prompts and log Z of %d", len(p.prompts), len(p.logZ))
	}
	return nil
}

// Eval computes the loss over the responses, and moves log Z.
func (p *FlowRL) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, Aggregation{Mode: "seq-all-token-sum"}, batch.Columns{batch.Anchor, batch.Advantage, batch.LogpRef, batch.PromptID}, func(f *frame) {
		f.restrictToOpen()
		rows := max(float64(in.Len()), 1)
		logZ, weights := 0.0, 0.0
		for i := range in.Len() {
			d, w := p.violation(f, i), p.weight(f, i)
			f.share(i, "D", d)
			f.share(i, "w", w)
			f.addResponse(i, w*d*d/rows)
			f.spread(i, 2*w*d/(rows*(f.length(i)+1e-8)))
			logZ += p.of(in.PromptID[i])
			weights += w
		}
		f.addKL(in.Anchor, 0)
		kl, reward := 0.0, 0.0
		for n := range masked.Kept(f.active) {
			kl += in.Ref.Logp[n] - in.Now.Logp[n]
			reward += in.Advantage[n]
		}
		out.Add("actor/ref_kl", f.mean(kl))
		out.Add("actor/log_reward", f.mean(reward))
		out.Add("actor/log_z", logZ/rows)
		out.Add("actor/importance_weight", weights/rows)
		if out.frozen == nil { // a finite difference is not a step
			p.move(f)
		}
	})
}

// of returns log Z of a prompt.
func (p *FlowRL) of(id int64) float64 {
	if k, known := slices.BinarySearch(p.prompts, int(id)); known {
		return p.logZ[k]
	}
	return 0
}

// move takes a step of log Z of the batch's prompts.
func (p *FlowRL) move(f *frame) {
	for _, id := range f.in.PromptID {
		if k, known := slices.BinarySearch(p.prompts, int(id)); !known {
			p.prompts, p.logZ = slices.Insert(p.prompts, k, int(id)), slices.Insert(p.logZ, k, 0)
		}
	}
	slopes, responses := f.out.work(1, len(p.prompts)), f.out.work(2, len(p.prompts))
	for i, id := range f.in.PromptID {
		k, _ := slices.BinarySearch(p.prompts, int(id))
		slopes[k] += float64(2 * p.weight(f, i) * p.violation(f, i))
		responses[k]++
	}
	for k, n := range responses {
		p.logZ[k] -= float64(p.LogZRate * slopes[k] / max(n, 1))
	}
}

// violation is D of response i.
func (p *FlowRL) violation(f *frame, i int) float64 {
	sum := 0.0
	for n := range f.in.Where(i, f.active) {
		sum += f.in.Now.Logp[n] - f.in.Ref.Logp[n] - float64(p.Beta*f.in.Advantage[n])
	}
	return p.of(f.in.PromptID[i]) + sum/(f.length(i)+1e-8)
}

// weight is W of response i.
func (p *FlowRL) weight(f *frame, i int) float64 {
	return min(elementary.Exp(f.sumLogRatio(i, f.sg, f.in.Anchor)), p.Cap)
}
