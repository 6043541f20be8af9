package measure

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"driftlab/engine"
	"driftlab/model"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method/batch"
)

// RealDump is what a real engine makes of tokens: log-probs of a program that runs one
// of our checkpoints, to be set next to the numerics that emulate it.
type RealDump struct {
	// Engine names the preset of numerics that emulates the program.
	Engine string `json:"engine"`
	// Program says which it was, with its release; Command how it was run.
	Program string `json:"program"`
	Command string `json:"command"`
	// Checkpoint is a shipped name or a folder; Source says where the tokens come from.
	Checkpoint string `json:"checkpoint"`
	Source     string `json:"source"`
	// Sequences are the tokens with their log-probs.
	Sequences []RealSequence `json:"sequences"`
}

// RealSequence is one prompt with its response.
type RealSequence struct {
	Prompt []int32 `json:"prompt"`
	Tokens []int32 `json:"tokens"`
	// Logp are the response tokens' log-probs in nats, and LogpF32 those of the same
	// program in float32; empty to take our fp32 in its place.
	Logp    []float64 `json:"logp"`
	LogpF32 []float64 `json:"logp_f32,omitempty"`
	// Mask is 0 for tokens that the policy did not write; nil for none.
	Mask []int `json:"mask,omitempty"`
	// Routes are the real engine's experts in the order [token][layer][rank], where known.
	Routes []uint8 `json:"routes,omitempty"`
}

// RealGap is one real engine next to its emulation, token by token:
// d = log-prob under the engine − log-prob under float32, of the real program
// against its own float32, and of the emulation against our fp32.
type RealGap struct {
	Engine     string `json:"engine"`
	Program    string `json:"program"`
	Checkpoint string `json:"checkpoint"`
	Tokens     int    `json:"tokens"`
	Responses  int    `json:"responses"`
	// Baseline is the largest difference between the real float32 and our fp32.
	Baseline float64 `json:"baseline"`
	// Real and Emulated are the two gaps.
	Real     RealSize `json:"real"`
	Emulated RealSize `json:"emulated"`
	// K3Ratio is the emulated k3 over the real one, and Correlation that of the two d,
	// each with the interval of its bootstrap over responses.
	K3Ratio     stats.Interval `json:"k3_ratio"`
	Correlation stats.Interval `json:"correlation"`
	// Within is the share of tokens whose two d differ by less than a hundredth of the
	// real d's root mean square, and Largest the largest difference.
	Within  float64 `json:"within"`
	Largest float64 `json:"largest"`
	// Flips is the share of tokens whose experts differ between the real engine and its
	// emulation; nil where the real ones are not known.
	Flips *float64 `json:"flips,omitempty"`
	// D are the pairs (real, emulated), in the order of the tokens.
	D [][2]float64 `json:"-"`
}

// RealSize is the size of one gap: k3 = mean(exp(−d) − 1 + d), the 99th percentile and the
// largest |d|.
type RealSize struct {
	K3  float64 `json:"k3"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// ParseRealDump reads a file of a real engine's log-probs. Errors name the place.
func ParseRealDump(text []byte) (*RealDump, error) {
	var r RealDump
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return nil, fmt.Errorf("not a dump of a real engine: %w", err)
	}
	if _, ok := engine.Preset(r.Engine); !ok {
		return nil, fmt.Errorf("engine %q is no preset of numerics: `simulate methods numerics` lists them", r.Engine)
	}
	if len(r.Sequences) == 0 {
		return nil, fmt.Errorf("sequences: there is none")
	}
	for i, s := range r.Sequences {
		fault := func(format string, args ...any) error {
			return fmt.Errorf("sequences[%d]: %s", i, fmt.Sprintf(format, args...))
		}
		n := len(s.Tokens)
		switch {
		case len(s.Prompt) == 0 || n == 0:
			return nil, fault("an empty prompt or response")
		case len(s.Logp) != n:
			return nil, fault("%d log-probs for %d tokens", len(s.Logp), n)
		case s.LogpF32 != nil && len(s.LogpF32) != n:
			return nil, fault("%d log-probs in float32 for %d tokens", len(s.LogpF32), n)
		case s.Mask != nil && len(s.Mask) != n:
			return nil, fault("a mask of %d for %d tokens", len(s.Mask), n)
		}
	}
	return &r, nil
}

// CompareReal scores the tokens of a dump with the numerics that emulate its engine
// and with fp32, and sets both gaps side by side.
func CompareReal(p *model.Params, r *RealDump) (*RealGap, error) {
	n, ok := engine.Preset(r.Engine)
	if !ok {
		return nil, fmt.Errorf("engine %q is no preset of numerics", r.Engine)
	}
	fine, _ := engine.Preset("fp32")
	for i, s := range r.Sequences {
		if err := checkTokens(p.Config, slices.Concat(s.Prompt, s.Tokens), len(s.Tokens), s.Routes); err != nil {
			return nil, fmt.Errorf("sequences[%d]: %w", i, err)
		}
	}
	low, full := r.scored(p, n), r.scored(p, fine).Logp
	g := &RealGap{Engine: r.Engine, Program: r.Program, Checkpoint: r.Checkpoint, Responses: len(r.Sequences)}
	offsets, flipped, routed := []int{0}, 0, 0
	per, at := p.Config.Layers*p.Config.TopK, -1 // the token in all sequences
	for _, s := range r.Sequences {
		for j := range s.Tokens {
			if at++; s.Mask != nil && s.Mask[j] == 0 {
				continue
			}
			base := full[at]
			if s.LogpF32 != nil {
				base = s.LogpF32[j]
				g.Baseline = max(g.Baseline, math.Abs(base-full[at]))
			}
			g.D = append(g.D, [2]float64{s.Logp[j] - base, low.Logp[at] - full[at]})
			if s.Routes != nil {
				routed++
				if !sameExperts(low.Routes[at*per:][:per], s.Routes[j*per:][:per], p.Config.TopK) {
					flipped++
				}
			}
		}
		offsets = append(offsets, len(g.D))
	}
	g.Tokens = len(g.D)
	if g.Tokens == 0 {
		return nil, fmt.Errorf("the masks leave no token")
	}
	if routed > 0 {
		g.Flips = new(float64(flipped) / float64(routed))
	}
	g.Real, g.Emulated = realSize(g.D, 0), realSize(g.D, 1)
	over := func(of [][2]float64, statistic func(pairs [][2]float64) float64) stats.Interval {
		var pairs [][2]float64
		return stats.Bootstrap(len(r.Sequences), func(sample []int) float64 {
			pairs = pairs[:0]
			for _, i := range sample {
				pairs = append(pairs, of[offsets[i]:offsets[i+1]]...)
			}
			return statistic(pairs)
		})
	}
	g.K3Ratio = over(k3Terms(g.D), func(k3 [][2]float64) float64 { return mean(k3, 1) / mean(k3, 0) })
	g.Correlation = over(g.D, Correlation)
	square := 0.0
	for _, d := range g.D {
		square += float64(d[0] * d[0])
	}
	small := math.Sqrt(square/float64(g.Tokens)) / 100
	for _, d := range g.D {
		distance := math.Abs(d[0] - d[1])
		g.Largest = max(g.Largest, distance)
		if distance < small {
			g.Within += 1 / float64(g.Tokens)
		}
	}
	return g, nil
}

// scored is what numerics make of the dump's tokens.
func (r *RealDump) scored(p *model.Params, n engine.Numerics) batch.Scored {
	b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0}}}
	for _, s := range r.Sequences {
		b.Prompt, b.Token = append(b.Prompt, s.Prompt), append(b.Token, s.Tokens...)
		b.Offsets = append(b.Offsets, len(b.Token))
	}
	Score(b, p, Scoring{Numerics: n})
	return b.Old
}

func checkTokens(c model.Config, ids []int32, tokens int, routes []uint8) error {
	if len(ids) > c.Context {
		return fmt.Errorf("%d tokens, the checkpoint has a context of %d", len(ids), c.Context)
	}
	for _, id := range ids {
		if id < 0 || int(id) >= c.Vocab {
			return fmt.Errorf("token %d, the checkpoint has a vocabulary of %d", id, c.Vocab)
		}
	}
	if want := tokens * c.Layers * c.TopK; routes != nil && len(routes) != want {
		return fmt.Errorf("%d experts, %d tokens in this checkpoint have %d", len(routes), tokens, want)
	}
	return nil
}

// sameExperts compares the experts layer by layer, as sets.
func sameExperts(a, b []uint8, top int) bool {
	for from := 0; from < len(a); from += top {
		for _, id := range a[from : from+top] {
			if !slices.Contains(b[from:from+top], id) {
				return false
			}
		}
	}
	return true
}

// realSize is the size of the real gap (0) or the emulated one (1).
func realSize(d [][2]float64, side int) RealSize {
	sizes := stats.Map(d, func(x [2]float64) float64 { return math.Abs(x[side]) })
	slices.Sort(sizes)
	return RealSize{K3: MeanK3(d, side), P99: stats.Quantile(sizes, 0.99), Max: sizes[len(sizes)-1]}
}

// MeanK3 is the mean of exp(−d) − 1 + d over pairs of log-prob differences, real and emulated: of side 0 or 1.
func MeanK3(d [][2]float64, side int) (k3 float64) { return mean(k3Terms(d), side) }

// k3Terms are exp(−d) − 1 + d of pairs.
func k3Terms(d [][2]float64) [][2]float64 {
	return stats.Map(d, func(x [2]float64) [2]float64 {
		return [2]float64{elementary.Expm1(-x[0]) + x[0], elementary.Expm1(-x[1]) + x[1]}
	})
}

func mean(x [][2]float64, side int) (sum float64) {
	for _, v := range x {
		sum += v[side] / float64(len(x))
	}
	return sum
}

// Correlation is Pearson's coefficient of the pairs.
func Correlation(d [][2]float64) float64 {
	var mean [2]float64
	for _, x := range d {
		mean[0], mean[1] = mean[0]+x[0]/float64(len(d)), mean[1]+x[1]/float64(len(d))
	}
	var xx, xy, yy float64
	for _, x := range d {
		a, b := x[0]-mean[0], x[1]-mean[1]
		xx, xy, yy = xx+float64(a*a), xy+float64(a*b), yy+float64(b*b)
	}
	return xy / math.Sqrt(xx*yy)
}
