package routing

import (
	"math/rand/v2"

	"driftlab/engine"
	"driftlab/experiments/claims/claim"
	"driftlab/experiments/measure"
	"driftlab/model"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/stream"
)

// gradientBias measures gradient bias at frozen weights. The learner pi is a model
// without any gap; the sampler mu is the same model with two injected faults:
//
//   - flips: in every layer the experts are the top-k of the clean router
//     logits plus noise; gates are live;
//   - logit noise: independent normal noise of some size on the output logits of
//     every token, which raises the token KL without touching a route.
//
// Everything is evaluated on the responses of pi, the same for every cell, and
// what mu would have done there enters with its exact probabilities. With
// credit for the token that earns the reward, r(a) less a constant, the mean
// gradient under mu less the oracle's is
//
//	b = E_pi[ Σ_t w_t·m_t(mu̅) − m_t(pi) ],  m_t(q) = Σ_a q_a·r̃_a·∇ log pi_a,
//	w_t = Π_{u<t} mu̅(y_u)/pi(y_u)
//
// where mu̅ is the mean of mu over the logit noise, of which every token draws
// its own: no sample of actions, of noise or of weights adds variance.
type gradientBias struct {
	params  *model.Params
	grad    *model.Params
	weights *engine.Weights
	pass    *engine.Pass
	pack    engine.Pack
	targets []int32

	b         *batch.Batch
	lengths   []int // prefixes that are measured, ascending; a segment lies between two
	chunk     int   // responses per pass, and per group of the variance
	lead      int   // rows of a prompt before the one that predicts
	reward    []float64
	baseline  float64
	noiseSeed uint64

	logp    []float32     // [response][t][vocab] of pi
	routes  []uint8       // [response][row][layer][rank] of pi
	router  []float32     // [response][t][layer][expert] router logits of pi
	normals []float32     // as router: the noise of the flips
	oracle  [][][]float32 // [chunk][segment] mean gradient per response under pi
}

// Random streams of the measurement.
const (
	tkdRewardStream = 301 + iota
	tkdRouterStream
	tkdNoiseStream
)

// tkdPairs is how many antithetic pairs of draws average the logit noise.
const tkdPairs = 2

// newGradientBias samples the responses of a model of that many experts, and
// measures what does not depend on a cell.
func newGradientBias(e *claim.Env, experts, responses, chunk int, lengths []int) *gradientBias {
	const vocab = 64
	k := &gradientBias{lengths: lengths, chunk: chunk, noiseSeed: e.Seed, params: thin(e, experts, vocab, longest(lengths)+8)}
	k.weights = engine.NewWeights(k.params.Config, claim.Numerics("fp32"))
	k.weights.Publish(k.params, 0)
	k.pass, k.grad = engine.NewPass(k.params.Config, 1), model.New(k.params.Config)
	k.b = e.Sample(claim.Probe{Params: k.params, Rollout: claim.Numerics("fp32"), Sequences: responses, Tokens: k.length()})
	k.lead = len(k.b.Prompt[0]) - 1
	k.reward = make([]float64, vocab)
	for i, a := range e.Rand(tkdRewardStream).Perm(vocab) {
		k.reward[a] = float64(2*(i%2) - 1)
	}
	k.measureOracle()
	rng := e.Rand(tkdRouterStream)
	k.normals = make([]float32, len(k.router))
	for i := range k.normals {
		k.normals[i] = float32(stream.Normal(rng))
	}
	return k
}

// longest is the longest of the lengths.
func longest(lengths []int) int { return lengths[len(lengths)-1] }

// thin is a random model of four layers with narrow experts.
func thin(e *claim.Env, experts, vocab, context int) *model.Params {
	c := model.Default()
	c.Layers, c.Experts, c.DFF, c.Vocab, c.Context = 4, experts, 16, vocab, context
	return e.Random(c)
}

func (k *gradientBias) close() { k.pass.Close() }

func (k *gradientBias) length() int    { return longest(k.lengths) }
func (k *gradientBias) responses() int { return k.b.Len() }
func (k *gradientBias) chunks() int    { return k.responses() / k.chunk }
func (k *gradientBias) vocab() int     { return k.params.Config.Vocab }

// segment is the range of positions between two lengths.
func (k *gradientBias) segment(s int) (from, to int) {
	if s > 0 {
		from = k.lengths[s-1]
	}
	return from, k.lengths[s]
}

// forward runs the first tokens of the responses of a chunk. replay, for all
// responses at full length, says where they are routed; nil routes natively.
func (k *gradientBias) forward(chunk, length int, replay []uint8, save bool) {
	k.pack.Reset()
	k.targets = k.targets[:0]
	from := chunk * k.chunk
	for i := from; i < from+k.chunk; i++ {
		at, first := k.b.Offsets[i], k.pack.Rows()+k.lead
		k.pack.Add(0, k.b.Prompt[i], k.b.Token[at:at+length-1])
		for t := range length {
			k.targets = append(k.targets, int32(first+t))
		}
	}
	k.pack.Targets = k.targets
	o := engine.Options{Save: save}
	if replay != nil {
		per := (k.lead + length) * k.params.Config.Layers * k.params.Config.TopK
		o.Replay = replay[from*per : (from+k.chunk)*per]
	}
	k.pass.Begin(k.weights, &k.pack, o)
	k.pass.Forward()
}

// backward returns the gradient that goes with d/d logits of the targets of the
// last forward pass, which saved its layers. It is valid until the next one.
func (k *gradientBias) backward(dlogits []float32) []float32 {
	clear(k.grad.Theta)
	k.pass.BeginBackward(k.grad, 0)
	k.pass.BackwardHead(dlogits)
	for l := k.params.Config.Layers - 1; l >= 0; l-- {
		k.pass.BackwardExperts(l)
		k.pass.BackwardAttention(l)
	}
	k.pass.BackwardEmbed()
	return k.grad.Theta
}

// measureOracle fills what pi does on its own responses: distributions, routes,
// router logits, mean reward, and the gradient of every segment.
func (k *gradientBias) measureOracle() {
	v, length := k.vocab(), k.length()
	p, dlogits := make([]float64, v), make([]float32, k.chunk*length*v)
	mean := 0.0
	for c := range k.chunks() {
		k.forward(c, length, nil, true)
		k.routes = append(k.routes, k.pass.Routes()...)
		rows := make([]int, len(k.targets))
		for i, r := range k.targets {
			rows[i] = int(r)
		}
		for _, s := range measure.RouterLogits(k.pass, k.params, rows) {
			k.router = append(k.router, float32(s))
		}
		k.logp = append(k.logp, k.pass.LogProbs()...)
		logp := k.logp[len(k.logp)-len(dlogits):]
		grads := make([][]float32, len(k.lengths))
		for s := range k.lengths {
			clear(dlogits)
			from, to := k.segment(s)
			for n := range k.targets {
				if t := n % length; t < from || t >= to {
					continue
				}
				softmaxInto(p, logp[n*v:(n+1)*v], nil, 0)
				earned := stats.Dot(p, k.reward)
				mean += earned
				for a := range p {
					dlogits[n*v+a] = float32(p[a] * (k.reward[a] - earned) / float64(k.chunk))
				}
			}
			grads[s] = append([]float32(nil), k.backward(dlogits)...)
		}
		k.oracle = append(k.oracle, grads)
	}
	k.baseline = mean / float64(k.responses()*length)
}

// softmaxInto writes the probabilities of logp plus size times noise.
func softmaxInto(p []float64, logp []float32, noise []float64, size float64) {
	sum := 0.0
	for a, l := range logp {
		x := float64(l)
		if noise != nil {
			x += float64(size * noise[a])
		}
		p[a] = elementary.Exp(x)
		sum += p[a]
	}
	for a := range p {
		p[a] /= sum
	}
}

// flip returns the routes with noise of a size on the router logits, and Kδ per
// length: how many memberships, a token's in a layer's expert, come out
// different per decision, summed over the K experts.
func (k *gradientBias) flip(size float64) (routes []uint8, rates []float64) {
	c := k.params.Config
	length := k.length()
	routes = append(routes, k.routes...)
	counts := make([]int, length)
	noisy := make([]float32, c.Experts)
	for i := range k.responses() {
		for t := range length {
			for l := range c.Layers {
				at := ((i*length+t)*c.Layers + l) * c.Experts
				clean := k.router[at : at+c.Experts]
				for e := range noisy {
					noisy[e] = clean[e] + float32(float32(size)*k.normals[at+e])
				}
				was, is := topTwo(clean), topTwo(noisy)
				changed := memberships(was, is)
				if changed == 0 {
					continue
				}
				counts[t] += changed
				row := i*(k.lead+length) + k.lead + t
				copy(routes[(row*c.Layers+l)*c.TopK:], is[:])
			}
		}
	}
	total := 0
	for s := range k.lengths {
		from, to := k.segment(s)
		for _, n := range counts[from:to] {
			total += n
		}
		rates = append(rates, float64(total)/float64(k.responses()*to*c.Layers))
	}
	return routes, rates
}

// memberships counts the experts that are in one of the pairs alone.
func memberships(a, b [2]uint8) int {
	n := 4
	for _, id := range a {
		if id == b[0] || id == b[1] {
			n -= 2
		}
	}
	return n
}

// topTwo are the two largest entries, the largest first, the lower id of equals.
func topTwo(x []float32) [2]uint8 {
	first, second := 0, -1
	for e := 1; e < len(x); e++ {
		switch {
		case x[e] > x[first]:
			first, second = e, first
		case second < 0 || x[e] > x[second]:
			second = e
		}
	}
	return [2]uint8{uint8(first), uint8(second)}
}

// sizeFor is the size of the router noise at which Kδ is a rate.
func (k *gradientBias) sizeFor(rate float64) float64 {
	low, high := 0.0, 1.0
	for range 20 {
		middle := (low + high) / 2
		if _, rates := k.flip(middle); rates[len(rates)-1] < rate {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// sampler returns the log-probs of mu before its logit noise, on the given
// routes: [response][t][vocab].
func (k *gradientBias) sampler(routes []uint8) []float32 {
	out := make([]float32, 0, len(k.logp))
	for c := range k.chunks() {
		k.forward(c, k.length(), routes, false)
		out = append(out, k.pass.LogProbs()...)
	}
	return out
}

// noiseOf restarts the logit noise of a response and pair.
func (k *gradientBias) noiseOf(rng *rand.PCG, response, pair int) {
	rng.Seed(k.noiseSeed, uint64(tkdNoiseStream)<<32+uint64(response*tkdPairs+pair))
}
