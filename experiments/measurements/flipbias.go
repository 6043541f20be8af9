package measurements

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"driftlab/engine"
	"driftlab/experiments/measure"
	"driftlab/experiments/study/claims/claim"
	"driftlab/model"
	"driftlab/precision/elementary"
	"driftlab/results/figure"
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
	length    int   // the longest
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

// tkdPairs is how many antithetic pairs of draws average the logit noise, tkdVocab the vocabulary.
const tkdPairs, tkdVocab = 2, 64

// newGradientBias samples the responses of a model of that many experts, and
// measures what does not depend on a cell.
func newGradientBias(e *claim.Env, experts, responses, chunk int, lengths []int) *gradientBias {
	c := model.Default() // of four layers with narrow experts
	c.Layers, c.Experts, c.DFF, c.Vocab, c.Context = 4, experts, 16, tkdVocab, slices.Max(lengths)+8
	k := &gradientBias{lengths: lengths, length: slices.Max(lengths), chunk: chunk, noiseSeed: e.Seed, params: e.Random(c)}
	k.weights = engine.NewWeights(k.params.Config, numerics("fp32"))
	k.weights.Publish(k.params, 0)
	k.pass, k.grad = engine.NewPass(k.params.Config, 1), model.New(k.params.Config)
	k.b = sample(e, probe{Params: k.params, Rollout: numerics("fp32"), Sequences: responses, Tokens: k.length})
	k.lead = len(k.b.Prompt[0]) - 1
	k.reward = make([]float64, tkdVocab)
	for i, a := range e.Rand(tkdRewardStream).Perm(tkdVocab) {
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

func (k *gradientBias) chunks() int { return k.b.Len() / k.chunk }

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
	v, length := tkdVocab, k.length
	p, dlogits := make([]float64, v), make([]float32, k.chunk*length*v)
	mean := 0.0
	for c := range k.chunks() {
		k.forward(c, length, nil, true)
		k.routes = append(k.routes, k.pass.Routes()...)
		rows := stats.Map(k.targets, func(r int32) int { return int(r) })
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
			grads[s] = slices.Clone(k.backward(dlogits))
		}
		k.oracle = append(k.oracle, grads)
	}
	k.baseline = mean / float64(k.b.Len()*length)
}

// softmaxInto writes the probabilities of logp plus size times noise.
func softmaxInto(p []float64, logp []float32, noise []float64, size float64) {
	for a, l := range logp {
		x := float64(l)
		if noise != nil {
			x += float64(size * noise[a])
		}
		p[a] = elementary.Exp(x)
	}
	normalised(p)
}

// flip returns the routes with noise of a size on the router logits, and Kδ per
// length: how many memberships, a token's in a layer's expert, come out
// different per decision, summed over the K experts.
func (k *gradientBias) flip(size float64) (routes []uint8, rates []float64) {
	c := k.params.Config
	length := k.length
	routes = slices.Clone(k.routes)
	counts := make([]int, length)
	noisy := make([]float32, c.Experts)
	for i := range k.b.Len() {
		for t := range length {
			for l := range c.Layers {
				at := ((i*length+t)*c.Layers + l) * c.Experts
				clean := k.router[at : at+c.Experts]
				for e := range noisy {
					noisy[e] = clean[e] + float32(float32(size)*k.normals[at+e])
				}
				was, is := topTwo(clean), topTwo(noisy)
				if was[0] == is[0] && was[1] == is[1] || was[0] == is[1] && was[1] == is[0] {
					continue
				}
				for _, id := range was { // each that is in one of the pairs alone
					if id != is[0] && id != is[1] {
						counts[t] += 2
					}
				}
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
		rates = append(rates, float64(total)/float64(k.b.Len()*to*c.Layers))
	}
	return routes, rates
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

// sizeFor is the size of the noise at which Kδ of the longest responses is the given rate, by bisection.
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
		k.forward(c, k.length, routes, false)
		out = append(out, k.pass.LogProbs()...)
	}
	return out
}

func (k *gradientBias) noiseOf(rng *rand.PCG, response, pair int) {
	rng.Seed(k.noiseSeed, uint64(tkdNoiseStream)<<32+uint64(response*tkdPairs+pair))
}

// withNoise visits every token, numbered over all responses, with its segment and the laws of mu under the first antithetic pairs of
// draws of the logit noise, which has a size per segment.
func (k *gradientBias) withNoise(logits []float32, size []float64, pairs int, visit func(n, segment int, laws [][]float64)) {
	const v = tkdVocab
	noise, laws := make([]float64, v), make([][]float64, 2*pairs)
	for j := range laws {
		laws[j] = make([]float64, v)
	}
	var sources [tkdPairs]rand.PCG
	for i := range k.b.Len() {
		for j := range pairs {
			k.noiseOf(&sources[j], i, j)
		}
		for s := range k.lengths {
			from, to := k.segment(s)
			for n := i*k.length + from; n < i*k.length+to; n++ {
				for j := range pairs {
					rng := rand.New(&sources[j])
					for a := range noise {
						noise[a] = stream.Normal(rng)
					}
					softmaxInto(laws[2*j], logits[n*v:(n+1)*v], noise, size[s])
					softmaxInto(laws[2*j+1], logits[n*v:(n+1)*v], noise, -size[s])
				}
				visit(n, s, laws)
			}
		}
	}
}

// tokenKL is the mean of KL(mu || pi) over the tokens of every segment, mu with
// logit noise of a size per segment: of the first antithetic pair of draws.
func (k *gradientBias) tokenKL(logits []float32, size []float64) []float64 {
	sums := make([]float64, len(k.lengths))
	k.withNoise(logits, size, 1, func(n, s int, laws [][]float64) {
		for _, q := range laws {
			for a, x := range q {
				sums[s] += float64(x * (elementary.Log(x) - float64(k.logp[n*tkdVocab+a])) / 2)
			}
		}
	})
	for s := range sums {
		from, to := k.segment(s)
		sums[s] /= float64(k.b.Len() * (to - from))
	}
	return sums
}

// match finds the size of the logit noise at which the token KL of every segment
// is the given one, by false position on the square of the size, and returns
// sizes and what they give. A KL that is there without noise already stays.
func (k *gradientBias) match(logits []float32, want float64) (size, have []float64) {
	n := len(k.lengths)
	size = make([]float64, n)
	low, atLow := make([]float64, n), k.tokenKL(logits, size) // squares of sizes
	high := make([]float64, n)
	for s := range size {
		// KL grows by no more than half the square of the size.
		high[s] = 4 * max(want-atLow[s], 0)
		size[s] = math.Sqrt(high[s])
	}
	atHigh := k.tokenKL(logits, size)
	for range 12 {
		for s := range size {
			if high[s] > 0 && atHigh[s] > atLow[s] {
				size[s] = math.Sqrt(max(low[s]+(high[s]-low[s])*(want-atLow[s])/(atHigh[s]-atLow[s]), 0))
			}
		}
		have = k.tokenKL(logits, size)
		done := true
		for s := range size {
			done = done && (high[s] == 0 || math.Abs(have[s]/want-1) < 1e-5)
			if have[s] < want {
				low[s], atLow[s] = size[s]*size[s], have[s]
			} else {
				high[s], atHigh[s] = size[s]*size[s], have[s]
			}
		}
		if done {
			break
		}
	}
	return size, have
}

// difference replaces the sampler's log-probs by d/d logits of b, see gradientBias,
// and returns the mean of w - 1 per chunk and segment: the coefficient of the
// oracle's gradient that has expectation zero.
func (k *gradientBias) difference(logits []float32, size []float64) (weight [][]float64) {
	const v = tkdVocab
	for range k.chunks() {
		weight = append(weight, make([]float64, len(k.lengths)))
	}
	p, mean := make([]float64, v), make([]float64, v)
	gains := stats.Each(k.reward, func(r float64) float64 { return r - k.baseline })
	drift := 0.0 // log of w
	k.withNoise(logits, size, tkdPairs, func(n, s int, laws [][]float64) {
		if n%k.length == 0 {
			drift = 0
		}
		clear(mean)
		for _, q := range laws {
			for a, x := range q {
				mean[a] += x
			}
		}
		for a := range mean {
			mean[a] /= 2 * tkdPairs
		}
		softmaxInto(p, k.logp[n*v:(n+1)*v], nil, 0)
		w, token := elementary.Exp(drift), k.b.Token[n]
		from, to := k.segment(s)
		weight[n/k.length/k.chunk][s] += (w - 1) / float64(k.chunk*(to-from))
		drift += elementary.Log(mean[token] / p[token])
		earned, oracle := stats.Dot(mean, gains), stats.Dot(p, gains)
		for a, r := range gains {
			d := float64(w*(float64(mean[a]*r)-float64(p[a]*earned))) - (float64(p[a]*r) - float64(p[a]*oracle))
			logits[n*v+a] = float32(d / float64(k.chunk))
		}
	})
	return weight
}

// tkdNorm accumulates the squared norm of the mean of group vectors without the
// noise of that mean: (|Σ g|² − Σ |g|²)/(n(n − 1)) has expectation |E g|², and
// may come out negative where there is little but noise.
type tkdNorm struct {
	sum     []float64
	squares float64
	n       int
}

func (m *tkdNorm) add(g []float32) {
	if m.sum == nil {
		m.sum = make([]float64, len(g))
	}
	m.n++
	for i, x := range g {
		m.sum[i] += float64(x)
		m.squares += float64(float64(x) * float64(x))
	}
}

func (m *tkdNorm) square() float64 {
	n := float64(m.n)
	return (stats.Dot(m.sum, m.sum) - m.squares) / (n * (n - 1))
}

// biases are the squared norms of b per length for each of the differences, and
// that of the oracle's gradient.
func (k *gradientBias) biases(differences [][]float32, weights [][][]float64) (bias [][]float64, oracle []float64) {
	norms := make([][]tkdNorm, len(differences))
	for d := range norms {
		norms[d] = make([]tkdNorm, len(k.lengths))
	}
	truth := make([]tkdNorm, len(k.lengths))
	size := len(k.params.Theta)
	all := make([][]float32, len(k.lengths)) // the oracle's gradients added over the chunks, per segment
	for s := range all {
		all[s] = make([]float32, size)
		for _, chunk := range k.oracle {
			for i, x := range chunk[s] {
				all[s][i] += x
			}
		}
	}
	v := tkdVocab
	var dlogits []float32
	for c := range k.chunks() {
		prefix, oracleSoFar := make([][]float32, len(differences)), make([]float32, size)
		for d := range prefix {
			prefix[d] = make([]float32, size)
		}
		for s := range k.lengths {
			from, to := k.segment(s)
			k.forward(c, to, nil, true)
			for i, x := range k.oracle[c][s] {
				oracleSoFar[i] += x
			}
			truth[s].add(oracleSoFar)
			for d, difference := range differences {
				dlogits = batch.Zeroed(dlogits, k.chunk*to*v)
				for i := range k.chunk {
					at := ((c*k.chunk+i)*k.length + from) * v
					copy(dlogits[(i*to+from)*v:(i*to+to)*v], difference[at:])
				}
				g := k.backward(dlogits)
				// Less what has expectation zero, with the oracle of the other chunks.
				w := float32(weights[d][c][s] / float64(max(k.chunks()-1, 1)))
				for i, x := range g {
					prefix[d][i] += x - float32(w*(all[s][i]-k.oracle[c][s][i]))
				}
				norms[d][s].add(prefix[d])
			}
		}
	}
	squares := func(list []tkdNorm) []float64 { return stats.Map(list, func(n tkdNorm) float64 { return n.square() }) }
	return stats.Map(norms, squares), squares(truth)
}

// flipBias measures the gradient bias that injected flips of routes cause at equal token KL, on
// random models of some numbers of experts: see gradientBias.
type flipBias struct {
	Experts []int
	// Rates are Kδ, memberships that change per decision.
	Rates            []float64
	Lengths          []int
	TinyLengths      []int `yaml:"tiny lengths"`
	Responses, Chunk sizes
}

// Measure records, cell by cell over models, rates and lengths: K, K delta, T, KL, bias² and
// control², the last two over the square of the oracle's gradient.
func (f *flipBias) Measure(e *claim.Env, o *claim.Observation) {
	lengths := f.Lengths
	if e.Size == claim.Tiny {
		lengths = f.TinyLengths
	}
	var models []*gradientBias
	defer func() {
		for _, k := range models {
			k.pass.Close()
		}
	}()
	logits, rates, least := make([][][]float32, len(f.Experts)), make([][][]float64, len(f.Experts)), 0.0
	for m, experts := range f.Experts {
		e.Continue()
		k := newGradientBias(e, experts, f.Responses.of(e), f.Chunk.of(e), lengths)
		models = append(models, k)
		for _, rate := range f.Rates {
			routes, have := k.flip(k.sizeFor(rate))
			sampler := k.sampler(routes)
			logits[m], rates[m] = append(logits[m], sampler), append(rates[m], have)
			least = max(least, stats.Max(k.tokenKL(sampler, make([]float64, len(lengths)))))
		}
		// The control: logit noise alone.
		logits[m] = append(logits[m], slices.Clone(k.logp))
	}
	for m, k := range models {
		var weights [][][]float64
		var kls [][]float64
		for _, sampler := range logits[m] {
			e.Continue()
			size, kl := k.match(sampler, 1.25*least)
			weights, kls = append(weights, k.difference(sampler, size)), append(kls, kl)
		}
		bias, oracle := k.biases(logits[m], weights)
		control := bias[len(f.Rates)]
		for i := range f.Rates {
			for at, length := range lengths {
				o.Append("K", float64(f.Experts[m]))
				o.Append("K delta", rates[m][i][at])
				o.Append("T", float64(length))
				o.Append("KL", kls[i][at])
				o.Append("bias²", bias[i][at]/oracle[at])
				o.Append("control²", control[at]/oracle[at])
			}
		}
	}
}

// tkdRates are the nominal Kδ of the claim, which its observations do not have.
var tkdRates = []float64{0.02, 0.06, 0.18}

// tkdMean is the law of the means over models, without model number skip:
// squares of bias and control, and the logarithms of Kδ, T and K. The noise of
// a square grows with the number of flips.
func tkdMean(j *claim.Judge, skip int) *excess {
	var runs claim.Judge
	for i, o := range j.Runs {
		if i != skip {
			runs.Runs = append(runs.Runs, o)
		}
	}
	rates := stats.Each(runs.Mean("K delta"), func(v float64) float64 { return max(v, 1e-6) })
	return &excess{y: runs.Mean("bias²"), floor: runs.Mean("control²"), scale: rates,
		x: [][]float64{stats.Logs(rates), stats.Logs(runs.Mean("T")), stats.Logs(runs.Mean("K"))}}
}

// jackknife gives each model the value that it adds to a statistic of the
// means over models: their mean and deviation are the statistic's.
func jackknife(j *claim.Judge, of func(*excess) float64) []float64 {
	all, n := of(tkdMean(j, -1)), len(j.Runs)
	if n == 1 {
		return []float64{all}
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(float64(n)*all) - float64(float64(n-1)*of(tkdMean(j, i)))
	}
	return out
}

// flipExponent is the exponent of the bias in Kδ, T or K, in a regression on the first
// of these, regressors in number.
func flipExponent(regressors int) func(j *claim.Judge, rates, texts []string) []float64 {
	return func(j *claim.Judge, _, texts []string) []float64 {
		k := slices.Index([]string{"", "K delta", "T", "K"}, texts[0])
		start := make([]float64, regressors)
		start[0] = 2
		return jackknife(j, func(f *excess) float64 {
			f.x = f.x[:regressors]
			return f.fit(start...)[k] / 2
		})
	}
}

// mostMinusFewest is, at the longest T, bias² of the most flips minus that of the fewest, mean over
// models of the same K.
func mostMinusFewest(lists ...[]float64) []float64 {
	cells, experts, times := lists[0], len(distinct(lists[1])), len(distinct(lists[2]))
	per, sum := len(cells)/experts, 0.0
	if per < times {
		return []float64{math.NaN()} // not the cells of a grid
	}
	for m := range experts {
		sum += (cells[(m+1)*per-1] - cells[m*per+times-1]) / float64(experts)
	}
	return []float64{sum}
}

// lastOfFirst is the last of the first K's entries.
func lastOfFirst(lists ...[]float64) []float64 {
	at := len(lists[0])/len(distinct(lists[1])) - 1
	if at < 0 {
		return []float64{math.NaN()} // not the cells of a grid
	}
	return []float64{lists[0][at]}
}

// distinct are the values that occur, in their order.
func distinct(x []float64) []float64 { return slices.Compact(slices.Sorted(slices.Values(x))) }

// flipChart draws the bias at the longest T over nominal Kδ, a line per K, with
// two to compare with: proportionality through the most flips, and what logit
// noise does by itself. All are roots of means over models of squares.
func flipChart(j *claim.Judge) *figure.Figure {
	x := stats.Each(tkdRates, elementary.Log10)
	cells, k := tkdMean(j, -1), j.Runs[0].List("K")
	experts := distinct(k)
	lengths := max(len(k)/len(experts)/len(x), 1)
	most, alone := 0.0, 0.0
	var arms []figure.Series
	for m, number := range experts {
		y := make([]float64, len(x))
		for i := range y {
			cell := min((m*len(x)+i+1)*lengths, len(k)) - 1
			y[i] = math.Sqrt(max(cells.y[cell], cells.floor[cell]/100, 1e-12))
			alone += math.Sqrt(max(cells.floor[cell], 0)) / float64(len(x)*len(experts))
		}
		most += y[len(x)-1] / float64(len(experts))
		arms = append(arms, figure.Series{Name: fmt.Sprintf("K = %.0f", number), Seeds: []figure.Series{{X: x, Y: y}}})
	}
	line, floor := make([]float64, len(x)), make([]float64, len(x))
	for i := range x {
		line[i], floor[i] = most*elementary.Pow(10, x[i]-x[len(x)-1]), alone
	}
	arms = append(arms, figure.Series{Name: "proportional to K·δ", Seeds: []figure.Series{{X: x, Y: line}}},
		figure.Series{Name: "no flips, same KL", Seeds: []figure.Series{{X: x, Y: floor}}})
	return claim.Chart("Gradient bias over the oracle at equal token KL: flips are injected", "log10 of memberships changed per decision, K·δ", "share of the gradient's norm",
		"At the longest responses. The proportional line ends at the mean of the most flips; the flat one is logit noise alone.", true, arms...)
}
