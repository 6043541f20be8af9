package reward

import (
	"embed"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
	"driftlab/trainer/method/task"
)

// Shaper computes one part of the reward. Implementations are pointers to
// parameter structs.
type Shaper interface {
	// Part writes the part's reward of every response to dst, length B. It
	// reads the verdicts, Mask, and the columns its Spec lists under Needs.
	Part(dst []float64, b *batch.Batch, verdicts []task.Verdict) error
}

// Placer is a Shaper whose part is spread over the tokens of a response.
type Placer interface {
	Shaper
	// Place adds the part to dst, length N. The sum over a response is what
	// Part gives for it.
	Place(dst []float64, b *batch.Batch, verdicts []task.Verdict) error
}

// follower is a Shaper whose part depends on the sum of the parts before it, which it reads in Reward.
type follower interface{ follows() }

// Follows reports whether a part depends on the parts before it, so that it cannot stand first.
func Follows(s Shaper) bool { _, ok := s.(follower); return ok }

// Scorer adds up parts. It keeps scratch memory: use one per goroutine.
type Scorer struct {
	parts  []Shaper
	column []float64
	flat   []float64
	rows   [][]float64
	whole  [][]float64 // those of rows without a place
	wholes []float64
	tokens []float64
	steps  []float64
}

// NewScorer returns a Scorer for these parts; without any, for the exact reward.
func NewScorer(parts ...Shaper) *Scorer {
	if len(parts) == 0 {
		parts = []Shaper{method.New[Exact]()}
	}
	return &Scorer{parts: parts}
}

// Score fills Correct, Reward and RewardParts of the batch from one verdict
// per response, and if a part is placed within the response TokenReward,
// StepReward and OutcomeParts; otherwise it sets these to nil. All but the first
// two columns are the Scorer's memory until its next call.
func (s *Scorer) Score(b *batch.Batch, verdicts []task.Verdict) error {
	n, kinds := b.Len(), len(s.parts)
	if len(verdicts) != n {
		return fmt.Errorf("reward: %d verdicts for %d responses", len(verdicts), n)
	}
	if err := b.Require(batch.Mask); err != nil {
		return err
	}
	b.Correct = batch.Zeroed(b.Correct, n)
	b.Reward = batch.Zeroed(b.Reward, n)
	s.column = batch.Zeroed(s.column, n)
	s.flat = batch.Zeroed(s.flat, n*kinds)
	s.rows = batch.Zeroed(s.rows, n)
	for i := range n {
		b.Correct[i] = verdicts[i].Correct
		s.rows[i] = s.flat[i*kinds : (i+1)*kinds : (i+1)*kinds]
	}
	b.RewardParts, b.OutcomeParts, b.TokenReward, b.StepReward = s.rows, nil, nil, nil
	placed := false
	for k, part := range s.parts {
		if err := part.Part(s.column, b, verdicts); err != nil {
			return err
		}
		for i, r := range s.column {
			s.rows[i][k] = r
			b.Reward[i] += r
		}
		_, ok := part.(Placer)
		placed = placed || ok
	}
	if placed {
		return s.place(b, verdicts)
	}
	return nil
}

// place fills StepReward with the placed parts where they belong, OutcomeParts
// with the others, and TokenReward with both, the others on the last generated
// token.
func (s *Scorer) place(b *batch.Batch, verdicts []task.Verdict) error {
	s.steps = batch.Zeroed(s.steps, b.Tokens())
	s.wholes = batch.Zeroed(s.wholes, len(s.flat))[:0]
	s.whole = s.whole[:0]
	for _, part := range s.parts {
		if p, ok := part.(Placer); ok {
			if err := p.Place(s.steps, b, verdicts); err != nil {
				return err
			}
		}
	}
	s.tokens = append(s.tokens[:0], s.steps...)
	for i, row := range s.rows {
		from, to := b.Span(i)
		at, first := lastGenerated(b, from, to), len(s.wholes)
		for k, part := range s.parts {
			if _, ok := part.(Placer); ok {
				continue
			}
			s.wholes = append(s.wholes, row[k])
			if at >= 0 {
				s.tokens[at] += row[k]
			}
		}
		s.whole = append(s.whole, s.wholes[first:len(s.wholes):len(s.wholes)])
	}
	b.TokenReward, b.StepReward, b.OutcomeParts = s.tokens, s.steps, s.whole
	return nil
}

// lastGenerated returns the last generated token of the entries from..to, or -1.
func lastGenerated(b *batch.Batch, from, to int) int {
	for at := to - 1; at >= from; at-- {
		if b.Mask[at] {
			return at
		}
	}
	return -1
}

// correctOf is the number of correct ones of these responses.
func correctOf(verdicts []task.Verdict, rows []int) (count int) {
	for _, i := range rows {
		if verdicts[i].Correct {
			count++
		}
	}
	return count
}

// length is the number of generated tokens of response i.
func length(b *batch.Batch, i int) float64 {
	from, to := b.Span(i)
	return float64(masked.Count(b.Mask[from:to]))
}

// texts are methods.txt: what each method does, when to use it, and its source; and examples.txt: worked examples, which a
// test recomputes (go test -run WorkedExamples -update writes them).
//
//go:embed examples.txt methods.txt
var texts embed.FS

// Registry lists the parts of a reward that a recipe can name. To add one,
// write the file and add a line.
//
//	reward: [{name: exact}, {name: length_uniform, coef: 0.005}]
var Registry = method.Table[Shaper]{
	method.Of[Shaper, Exact]("exact"),
	method.Of[Shaper, PassAtK]("pass_at_k"),
	method.Of[Shaper, GroupMax]("group_max"),
	method.Of[Shaper, Ternary]("genrm_ternary"),
	method.Of[Shaper, Format]("format"),
	method.Of[Shaper, Process]("process"),
	method.Of[Shaper, Utility]("marginal_utility"),
	method.Of[Shaper, Uniform]("length_uniform"),
	method.Of[Shaper, Group]("length_group"),
	method.Of[Shaper, Anchor]("length_anchor"),
	method.Of[Shaper, Step]("length_step"),
	method.Of[Shaper, Relative]("length_relative"),
	method.Of[Shaper, LengthLinear]("length_linear"),
	method.Of[Shaper, StopProperly]("stop_properly"),
	method.Of[Shaper, Repetition]("repetition"),
	method.Of[Shaper, Overlong]("overlong"),
}.Filled(method.Spec{Group: "reward", Gradient: "constant: rewards are data"}, texts)

// Exact is the outcome: 1 for a response that the verifier calls correct, 0
// for any other. It has no parameters, so that pass rates can be read from it.
type Exact struct{}

// Part implements Shaper.
func (*Exact) Part(dst []float64, _ *batch.Batch, verdicts []task.Verdict) error {
	for i := range verdicts {
		dst[i] = outcome(&verdicts[i])
	}
	return nil
}

// outcome is 1 for a correct response and 0 for any other.
func outcome(v *task.Verdict) float64 {
	if v.Correct {
		return 1
	}
	return 0
}

// Format is a bonus for a response that has the form of a demonstration, right
// or wrong.
type Format struct {
	// Coef is the bonus.
	Coef float64 `yaml:"coef" default:"0.1" range:"[0,1e6]"`
}

// Part implements Shaper.
func (f *Format) Part(dst []float64, _ *batch.Batch, verdicts []task.Verdict) error {
	for i := range verdicts {
		dst[i] = 0
		if verdicts[i].Format {
			dst[i] = f.Coef
		}
	}
	return nil
}

// Ternary is a generative judge that compares a response with a reference and
// says better, similar or worse. The judge observes a latent quality through
// noise; three labels with a gap wider than the noise keep small jitter near
// the group's mean from flipping the sign of advantages, which the continuous
// score does not.
type Ternary struct {
	// Noise is the standard deviation s of the judge's impression.
	Noise float64 `yaml:"noise" default:"0.1" range:"[0,1e6]"`
	// Threshold is τ: impressions within ±τ are "similar".
	Threshold float64 `yaml:"threshold" default:"0.25" range:"[0,1e6]"`
	// Steps is the share w of the working in the quality.
	Steps float64 `yaml:"steps" default:"0.5" range:"[0,1]"`
	// Reference is the quality of the answer compared with.
	Reference float64 `yaml:"reference" default:"0.5" range:"[0,1]"`
	// Continuous gives the impression itself as the reward: the control.
	Continuous bool `yaml:"continuous"`

	judge rand.PCG
}

// Part implements Shaper.
func (t *Ternary) Part(dst []float64, b *batch.Batch, verdicts []task.Verdict) error {
	if err := requirePrompts(b); err != nil {
		return err
	}
	for i := range verdicts {
		x := t.quality(&verdicts[i]) - t.Reference
		if t.Noise > 0 {
			seedFor(&t.judge, b, i)
			x += float64(t.Noise * normal(&t.judge))
		}
		switch {
		case t.Continuous:
			dst[i] = x
		case x > t.Threshold:
			dst[i] = 1
		case x < -t.Threshold:
			dst[i] = -1
		default:
			dst[i] = 0
		}
	}
	return nil
}

// quality is what the judge would see without noise.
func (t *Ternary) quality(v *task.Verdict) float64 {
	steps := v.Steps()
	exact := 0.0
	for _, s := range steps {
		if s.Exact {
			exact += 1 / float64(len(steps))
		}
	}
	return float64((1-t.Steps)*outcome(v)) + float64(t.Steps*exact)
}

// normal draws a standard normal number (Box and Muller).
func normal(src *rand.PCG) float64 {
	const unit = 1.0 / (1 << 53)
	u := (float64(src.Uint64()>>11) + 0.5) * unit // within (0, 1): its logarithm is finite
	v := float64(src.Uint64()>>11) * (2 * unit)
	return math.Sqrt(-2*elementary.Log(u)) * elementary.CosPi(v)
}

// StopProperly multiplies the reward of responses that were cut off at the length limit.
//
// It reads the sum of the parts that stand before it. A negative reward is moved up, towards 0:
// use it with rewards that are not negative.
type StopProperly struct {
	// Coef is what a truncated response keeps of its reward: 0 nothing, 1 all.
	Coef float64 `yaml:"coef" default:"0" range:"[0,1]"`
}

func (*StopProperly) follows() {}

// Part implements Shaper.
func (s *StopProperly) Part(dst []float64, b *batch.Batch, _ []task.Verdict) error {
	if err := b.Require(batch.Reward); err != nil {
		return err
	}
	if len(b.Finished) != b.Len() {
		return fmt.Errorf("reward: stop_properly: Finished has %d entries for %d responses: record it before this stage", len(b.Finished), b.Len())
	}
	for i, finished := range b.Finished {
		dst[i] = 0
		if !finished {
			dst[i] = (s.Coef - 1) * b.Reward[i]
		}
	}
	return nil
}

// Repetition is a penalty on n-grams that a response repeats. The stop token and what a
// tool wrote are no part of them; a response with fewer than N tokens has no penalty.
type Repetition struct {
	// Coef is the penalty as every n-gram is the same; repetition_max_penalty with the
	// opposite sign.
	Coef float64 `yaml:"coef" default:"1" range:"[0,1e6]"`
	// N is the number of tokens of an n-gram.
	N int `yaml:"n" default:"3" range:"[1,64]"`

	tokens []int32
	starts []int // of the n-grams, sorted by their tokens
}

// Part implements Shaper.
func (p *Repetition) Part(dst []float64, b *batch.Batch, _ []task.Verdict) error {
	if err := b.Require(batch.Mask, batch.Token); err != nil {
		return err
	}
	for i := range b.Len() {
		p.tokens = p.tokens[:0]
		for n := range b.Where(i, b.Mask) {
			if b.Token[n] != task.EOS {
				p.tokens = append(p.tokens, b.Token[n])
			}
		}
		dst[i] = 0
		if total := len(p.tokens) - p.N + 1; total > 0 {
			dst[i] = -p.Coef * float64(total-p.distinct(total)) / float64(total)
		}
	}
	return nil
}

// distinct counts the different ones of the first total n-grams.
func (p *Repetition) distinct(total int) (count int) {
	p.starts = p.starts[:0]
	for s := range total {
		p.starts = append(p.starts, s)
	}
	compare := func(a, b int) int { return slices.Compare(p.tokens[a:a+p.N], p.tokens[b:b+p.N]) }
	slices.SortFunc(p.starts, compare)
	for k, s := range p.starts {
		if k == 0 || compare(p.starts[k-1], s) != 0 {
			count++
		}
	}
	return count
}
