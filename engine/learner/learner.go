package learner

import (
	"fmt"
	"math"
	"slices"

	"driftlab/engine"
	"driftlab/engine/column"
	"driftlab/engine/kernel"
	"driftlab/model"
)

// Settings are the choices of a learner that last for a run.
type Settings struct {
	// Numerics is how it computes.
	Numerics engine.Numerics
	// AdamW are the optimiser's settings.
	AdamW AdamW
	// LossScale guards small fp16 gradients; the zero value switches it off.
	LossScale LossScale
	// Balance is the weight of the load-balancing loss; 0 leaves it out.
	Balance float64
	// Recompute keeps the residual stream alone for the backward pass, which then
	// computes the insides of the layers again: the same bits, more time, a fraction
	// of the memory.
	Recompute bool
	// FrozenRouter leaves the routers' weights as they are: their gradient is
	// zero, in norms too, and no update or weight decay reaches them.
	FrozenRouter bool
}

// StepOptions are the choices of one gradient.
type StepOptions struct {
	// Policy is the one whose gradient is taken; on a replayed support, or with
	// retention masks, that of the restricted policy, of the shadow.
	Policy
	// Earlier is the pass whose routes ReplayOld follows.
	Earlier *column.Scored
	// Dense is a second objective, nil for none: with Retention, it is evaluated on
	// a second pass without masks, and value and gradient are added. The first
	// pass then records its distributions, those of the shadow.
	Dense Objective
	// Distributions records the full log-probs, Entropy their entropies.
	Distributions, Entropy bool
	// Router records the router's log-probs of the experts that Earlier visited.
	Router bool
	// Perturb adds noise to what enters the layers of the first pass; nil adds none.
	Perturb *Perturbation
	// Predictor is updated after the first pass, whose tokens are these of the ones that it
	// recorded; nil updates none.
	Predictor *RoutePredictor
	Predicted []int
}

// Perturbation is noise in the forward pass of a gradient, which the sizes of the
// noise have a gradient of, too (ALP, arXiv:2603.19470).
type Perturbation struct {
	// Sigma is the size of the noise, by layer.
	Sigma []float32
	// Normal draws standard normal numbers.
	Normal func() float64
	// Grad receives d loss/d Sigma.
	Grad []float64
}

// Report is what one gradient came to.
type Report struct {
	// Loss is the value of the policy loss.
	Loss float64
	// GradNorm is the norm of the gradient before clipping.
	GradNorm float64
	// Skipped is true when a scaled fp16 gradient overflowed: no update is due.
	Skipped bool
	// Scale is the loss scale the gradient was computed with, 1 without one.
	Scale float64
	// Metrics are the metrics that the loss reports; valid until the next gradient.
	Metrics []column.Metric
}

// Learner trains a model: it computes gradients of policy losses in its own
// numerics and updates float32 master weights. Not safe for concurrent use.
type Learner struct {
	Scorer
	settings Settings
	params   *model.Params
	grad     *model.Params // of the whole model
	trained  []float32     // of what is trained: grad's memory, or that of the adapters
	norm     float64       // of trained; NaN once somebody may have edited that
	adam     *adamW
	scale    lossScaler
	machine  machine
	capacity int  // rows of a pack that the machine has room for
	stale    bool // the published weights are older than params

	// What the last operation of the graph needs, set for each run.
	now       *column.Scored
	in        *column.Sampled
	objective Objective
	options   StepOptions
	out       column.Grad
	dlogits   []float32
	noise     []float32
	failure   error // of the last run
	made      bool  // its forward pass has been made ahead

	response        column.Sampled // one response, for ScoreNorms
	scored, earlier column.Scored  // and what is recorded of it
	dense           column.Scored  // the dense pass of a shadow, and its result
	denseOut        column.Grad
}

// New returns a learner that trains params in place, spread over that many workers: the
// adapters alone, with their moments, where there are some.
func New(p *model.Params, s Settings, workers int) *Learner {
	l := &Learner{
		Scorer:   *NewScorer(p.Config, s.Numerics, workers),
		settings: s, params: p, grad: model.New(p.Config), adam: newAdamW(s.AdamW, p, s.FrozenRouter), stale: true,
	}
	l.trained = l.grad.Theta
	if p.LoRA != nil {
		l.trained = make([]float32, len(p.LoRA.Theta))
	}
	l.scale, l.layout.apart = lossScaler{settings: s.LossScale, scale: s.LossScale.Initial}, l.layout.apart || s.Balance != 0
	return l
}

// Params returns the master weights, which Update changes in place.
func (l *Learner) Params() *model.Params { return l.params }

// Grad returns the gradient of the last call of Gradient, unscaled and
// unclipped, laid out like what is trained (model.Params.Trained). Guards may edit it before
// Update.
func (l *Learner) Grad() []float32 {
	l.norm = math.NaN()
	return l.trained
}

// Updates returns how many updates have been made.
func (l *Learner) Updates() int { return l.adam.updates }

// Close releases the workers and the graph.
func (l *Learner) Close() {
	l.Scorer.Close()
	if l.machine != nil {
		l.machine.close()
	}
}

// Score computes log-probs under the current weights.
func (l *Learner) Score(dst *column.Scored, in *column.Sampled, o ScoreOptions) {
	l.publish()
	l.Scorer.Score(dst, in, o)
}

// Calibrate is the Scorer's, with the current weights.
func (l *Learner) Calibrate(sequences [][]int32, margin float64) {
	l.publish()
	l.Scorer.Calibrate(sequences, margin)
}

// publish brings the learner's formatted weights up to date.
func (l *Learner) publish() {
	if l.stale {
		l.Scorer.Publish(l.params, l.adam.updates)
		l.stale = false
	}
}

// Gradient runs the graph once: the responses forward, unless ScoreAhead has taken
// them there, the objective as its last operation, and backward. It fills dst's Logp and, if asked for, Entropy and Dist.
// The error is the objective's, or a NonFinite that names the tensor.
func (l *Learner) Gradient(dst *column.Scored, in *column.Sampled, objective Objective, o StepOptions) (Report, error) {
	l.publish()
	l.made = o.Perturb == nil && l.ahead.has(in, o.Policy)
	if !l.made {
		l.layOut(in, recorded(in, o.Earlier, o.Policy))
		if err := l.ensureMachine(); err != nil {
			return Report{}, err
		}
		options := l.saving(o.Router || o.Predictor != nil)
		options.Perturb = l.perturbation(o.Perturb)
		l.begin(in, o.Policy, o.Earlier, options)
	}
	l.ahead = ahead{}
	clear(l.grad.Theta)
	dense := o.Dense != nil && o.Retention
	o.Distributions = o.Distributions || dense
	if err := l.propagate(dst, in, objective, o, l.settings.Balance); err != nil {
		return Report{}, err
	}
	r := Report{Loss: l.out.Loss, Scale: l.scale.factor(), Metrics: l.out.Metrics}
	if o.Predictor != nil {
		r.Metrics = append(r.Metrics, o.Predictor.update(l, in, o.Predicted)...)
	}
	if o.Perturb != nil {
		for i, g := range l.pass.SigmaGrad() {
			o.Perturb.Grad[i] = g / r.Scale
		}
	}
	if dense {
		if err := l.addDense(in, &r, o); err != nil {
			return Report{}, err
		}
	}
	if a := l.params.LoRA; a != nil {
		a.Gradient(l.trained, l.grad)
	}
	for _, r := range l.adam.runs {
		if r.frozen {
			clear(l.trained[r.from:r.end])
		}
	}
	if l.scale.active() {
		for i := range l.trained {
			l.trained[i] *= float32(1 / r.Scale)
		}
	}
	r.GradNorm = norm(l.trained)
	l.norm = r.GradNorm
	if math.IsNaN(r.GradNorm) || math.IsInf(r.GradNorm, 0) {
		if !l.scale.overflow() {
			return r, l.nonFiniteGradient()
		}
		r.Skipped = true
		return r, nil
	}
	l.scale.fine()
	return r, nil
}

// saving are the options of a pass that a gradient goes back through.
func (l *Learner) saving(router bool) engine.Options {
	return engine.Options{Save: true, Recompute: l.settings.Recompute, KeepRouter: router}
}

// perturbation draws the noise of the pack that is laid out.
func (l *Learner) perturbation(n *Perturbation) *engine.Perturbation {
	if n == nil {
		return nil
	}
	l.noise = column.Resized(l.noise, l.config.Layers*l.pack.Rows()*l.config.DModel)
	for i := range l.noise {
		l.noise[i] = float32(n.Normal())
	}
	return &engine.Perturbation{Sigma: n.Sigma, Noise: l.noise}
}

// propagate runs the graph over the pass that has begun and adds to the gradient.
func (l *Learner) propagate(dst *column.Scored, in *column.Sampled, objective Objective, o StepOptions, balance float64) error {
	l.now, l.in, l.objective, l.options = dst, in, objective, o
	l.pass.BeginBackward(l.grad, balance*l.scale.factor())
	l.failure = nil
	err := l.machine.run()
	if err != nil && l.failure != nil {
		// The machine wraps it in an account of where in its program it was.
		return l.failure
	}
	return err
}

// Update moves the weights by the last gradient, clipped to the norm of the
// settings, at the given learning rate.
func (l *Learner) Update(rate float64) {
	clip := 1.0
	if bound := l.settings.AdamW.ClipNorm; bound > 0 {
		if math.IsNaN(l.norm) {
			l.norm = norm(l.trained)
		}
		if l.norm > bound {
			clip = bound / l.norm
		}
	}
	l.adam.step(l.pass.Team(), l.params.Trained(), l.trained, clip, rate)
	l.params.Merge()
	l.stale = true
}

// Republish takes up parameters that somebody else has changed.
func (l *Learner) Republish() { l.stale = true }

// ensureMachine makes the machine, again when the pack has outgrown it.
func (l *Learner) ensureMachine() error {
	rows := l.pack.Rows()
	if l.machine != nil && rows <= l.capacity {
		return nil
	}
	if l.machine != nil {
		l.machine.close()
	}
	// A quarter more than asked for, so that the lengths of responses, which
	// wander, do not make another at every step.
	l.capacity = rows + rows/4
	l.pass.Reserve(l.capacity)
	var err error
	l.machine, err = newMachine(l.eager(), l.params, l.grad, l.capacity)
	return err
}

// eager is a pass forward and backward.
func (l *Learner) eager() *eager {
	return &eager{l.pass, l.config.Layers, l.headAndLoss, l.headGradient}
}

// headAndLoss is the machine's last forward operation, the only one that can fail.
func (l *Learner) headAndLoss() (float64, error) {
	l.failure = l.evaluate()
	return l.out.Loss, l.failure
}

// evaluate runs the head, records the current policy and computes the loss.
func (l *Learner) evaluate() error {
	if !l.made {
		l.pass.ForwardHead()
		l.distribute(l.in, l.options.Support)
	}
	now := l.now
	now.Logp = l.sampled(now.Logp)
	now.Entropy = now.Entropy[:0]
	if l.options.Entropy {
		now.Entropy = l.entropies(now.Entropy)
	}
	now.Dist = l.distributions(now.Dist, l.options.Distributions)
	if l.options.Router {
		now.RouterLogp = l.routerLogp(now.RouterLogp, l.in, l.options.Earlier.Routes, true)
	}
	if firstNonFinite(l.now.Logp) != "" {
		return l.locateForward()
	}
	if err := l.objective.Eval(&l.out, now); err != nil {
		return err
	}
	return l.checkLoss()
}

// headGradient turns d loss/d log-prob into d loss/d logits and goes back
// through the head:
//
//	dlogits = (dlogp·(onehot(token) - p) + dLogits)/temperature
//
// On a replayed support p is the restricted policy, zero outside, and so is
// the gradient.
func (l *Learner) headGradient() error {
	v := l.config.Vocab
	l.dlogits = column.Resized(l.dlogits, len(l.targets)*v)
	scale := l.scale.factor() / l.options.Temperature
	for n, g := range l.out.DLogp {
		row, c := l.dlogits[n*v:(n+1)*v], float32(g*scale)
		if c == 0 {
			clear(row)
			continue
		}
		for a, p := range l.probs[n*v : (n+1)*v] {
			row[a] = float32(-c * p)
		}
		row[l.in.Token[n]] += c
	}
	for i, g := range l.out.DLogits {
		l.dlogits[i] += float32(g * scale)
	}
	l.pass.BackwardHead(l.dlogits)
	return nil
}

// ahead names the forward pass of a gradient that has been made before it: the one
// that scored these responses under this policy. The zero value stands for none.
type ahead struct {
	in     *column.Sampled
	policy Policy
}

// has reports whether the pass is the one that a gradient needs.
func (a ahead) has(in *column.Sampled, p Policy) bool { return a.in != nil && a == ahead{in, p} }

// ScoreAhead is Score, and the forward pass of the gradient to come. It keeps what
// the pass goes through, or the settings' Recompute's share of it, in the memory
// that the gradient would take. If a Gradient of the same responses, which must
// stay as they are, under the same policy comes before anything else moves the
// weights, the scales of the cache or the pass, it goes back from here: the first
// of a step's does, and has the same bits. Routes that the responses' own first pass
// records (R2) are replayed in a pass of their own.
func (l *Learner) ScoreAhead(dst *column.Scored, in *column.Sampled, o ScoreOptions) {
	l.publish()
	l.layOut(in, recorded(in, o.Earlier, o.Policy))
	if o.Replay.OfOld() || l.ensureMachine() != nil { // of which Gradient will tell
		l.Score(dst, in, o)
		return
	}
	options := l.saving(o.Router)
	options.KeepGates = o.KeepGates
	l.begin(in, o.Policy, o.Earlier, options)
	l.score(dst, in, o)
	l.ahead = ahead{in, o.Policy}
}

// Policy says which distribution over tokens a pass is of, at given weights:
// temperature, and what of the rollout it replays.
type Policy struct {
	// Temperature divides the logits, as in the rollout.
	Temperature float64
	// Replay says whose routes to follow, Gates with which gates; empty means live.
	Replay Replay
	Gates  Gates
	// Support replays each token's recorded sampling support (Keep Sampling Mask,
	// arXiv:2512.02556): log-probs, entropy, sum of squares and distributions are
	// computed from the policy restricted to it, outside of which a distribution holds
	// -Inf. Tokens drawn without truncation are as ever.
	Support bool
	// Retention replays each token's recorded retention mask: attention sees what
	// was left in the rollout engine's compressed KV cache (Shadow Mask
	// Distillation, arXiv:2605.06850), or what the indices of sparse attention chose there.
	Retention bool
}

// Objective is what a gradient is of. It is the last operation of the graph.
type Objective interface {
	// Eval sets the value and its derivatives, from what the pass recorded of the
	// current weights.
	Eval(out *column.Grad, now *column.Scored) error
}

// State is everything a learner carries from one update to the next, in addition to
// the parameters: what an interrupted run saves.
type State struct {
	// First and Second are AdamW's moments, laid out like the parameters; they
	// share the learner's memory.
	First, Second []float32
	// Updates is the number of updates made.
	Updates int
	// Scale and Clean are the loss scale and the clean gradients since it changed.
	Scale float64
	Clean int
}

// State returns the state; it is valid until the next update.
func (l *Learner) State() State {
	return State{l.adam.m, l.adam.v, l.adam.updates, l.scale.scale, l.scale.clean}
}

// SetState restores a state and takes up the parameters as they are now.
func (l *Learner) SetState(s State) error {
	if len(s.First) != len(l.adam.m) || len(s.Second) != len(l.adam.v) {
		return fmt.Errorf("optimiser state has %d and %d values, the model has %d parameters", len(s.First), len(s.Second), len(l.adam.m))
	}
	copy(l.adam.m, s.First)
	copy(l.adam.v, s.Second)
	l.adam.updates = s.Updates
	l.scale.scale, l.scale.clean = s.Scale, s.Clean
	l.stale = true
	return nil
}

// distributor turns logits into log-probs, probabilities and entropies, row by row: each
// worker does those of its block as soon as it has computed them.
type distributor struct {
	scorer         *Scorer
	offsets        []int // of the responses, and so of the targets
	invTemperature float32
}

// distributing prepares a pass over the batch that is laid out, and returns what
// is to follow it.
func (s *Scorer) distributing(b *column.Sampled, temperature float64) engine.Follower {
	n := len(s.targets) * s.config.Vocab
	s.logp, s.probs, s.entropy = column.Resized(s.logp, n), column.Resized(s.probs, n), column.Resized(s.entropy, len(s.targets))
	s.follow = distributor{s, b.Offsets, float32(1 / temperature)}
	return &s.follow
}

func (d *distributor) Follow(_, from, to, target int) {
	s, v := d.scorer, d.scorer.config.Vocab
	prefixes := s.pack.Prefixes // they stand before the responses
	if to <= prefixes {
		return
	}
	rows := d.offsets[to-prefixes] - d.offsets[from-prefixes]
	first, end := target*v, (target+rows)*v
	kernel.LogSoftmaxRows(s.logp[first:end], s.pass.Logits()[first:end], rows, v, d.invTemperature)
	kernel.Exp(s.probs[first:end], s.logp[first:end])
	kernel.Entropies(s.entropy[target:target+rows], s.probs[first:end], s.logp[first:end], v)
}

// distribute completes the log-probs and probabilities of the last pass, and
// restricts them to the recorded supports if they are replayed. A token that the
// policy did not generate has the log-prob 0, as in the rollout engine: no policy
// is asked for it.
func (s *Scorer) distribute(b *column.Sampled, onSupport bool) {
	s.chosen = column.Resized(s.chosen, len(s.targets))
	for n := range s.chosen {
		s.chosen[n] = float64(s.logp[n*s.config.Vocab+int(b.Token[n])])
	}
	if onSupport {
		s.restrict(b)
	}
	for n := range b.Mask {
		if !b.Mask[n] {
			s.chosen[n] = 0
		}
	}
	s.mask = b.Mask
}

// restrict moves log-probs and probabilities onto the recorded supports. It
// panics where none was recorded, or where a sampled token lies outside its
// own: a pass over the whole vocabulary would look like one on the support.
func (s *Scorer) restrict(b *column.Sampled) {
	if len(b.Support) != b.Tokens() {
		panic(fmt.Sprintf("learner: %d sampling supports to replay, %d tokens", len(b.Support), b.Tokens()))
	}
	v := s.config.Vocab
	for n, kept := range b.Support {
		if kept == nil {
			continue
		}
		if _, found := slices.BinarySearch(kept, b.Token[n]); !found {
			panic(fmt.Sprintf("learner: token %d is not in its sampling support %v", b.Token[n], kept))
		}
		logp, probs := s.logp[n*v:(n+1)*v], s.probs[n*v:(n+1)*v]
		logMass := s.support.LogMass(logp, probs, kept)
		s.chosen[n] -= logMass
		engine.Restrict(logp, kept, logMass)
		kernel.Exp(probs, logp)
		kernel.Entropies(s.entropy[n:n+1], probs, logp, v)
	}
}
