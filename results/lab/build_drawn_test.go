package lab

import (
	"encoding/json"
	"fmt"
	"io/fs"

	"driftlab/results/figure"
	"driftlab/results/lab/picture"
	"driftlab/results/record"
)

// drawn make pictures of what claims and runs have published.
var drawn = map[string]func(*published) ([]figure.Figure, error){
	"length": drawLength, "policies": drawPolicies, "routing": drawRouting, "age": drawAge, "fix": drawFix,
}

// decode reads a recording that is no panels.
func (p *published) decode(file string, into any) error {
	text, err := fs.ReadFile(p.dir, file)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// drawLength is what the claims about length found, over their models.
func drawLength(p *published) ([]figure.Figure, error) {
	one := figure.Figure{Kind: figure.Lines, Name: "published", Title: "Published: share of responses kept, mean of ten models", Guess: "kept",
		X: figure.Axis{Label: "response length (tokens)", Log: true}, Y: figure.Axis{Label: "share kept", High: 1}}
	lengths, err := p.means("length-trap", "lengths")
	if err != nil {
		return nil, err
	}
	for _, s := range []struct {
		name, claim, series string
		method              figure.Method
		masked              bool
	}{
		{"product, cap 2", "length-trap", "natural product 2", figure.Uncorrected, false},
		{"product, cap 2, sums rounded to bf16", "length-trap", "amplified product 2", figure.Clip, false},
		{"geometric mean, 0.99 to 1.01", "length-trap", "natural geometric", figure.OPSM, false},
		{"geometric mean, mixture of experts", "geo-length-invariant", "moe geometric", figure.R3, true},
	} {
		y, err := p.means(s.claim, s.series)
		if err != nil {
			return nil, err
		}
		for i := range y {
			if s.masked { // the claim counts what is left out
				y[i] = 1 - y[i]
			}
		}
		one.Series = append(one.Series, figure.Series{Name: s.name, Method: s.method, X: lengths, Y: y})
	}
	last := len(lengths) - 1
	one.Note = fmt.Sprintf("A cap of 2 on the product keeps %.3f of the responses of %.0f tokens and %.3f of those of %.0f.",
		one.Series[0].Y[0], lengths[0], one.Series[0].Y[last], lengths[last])
	return []figure.Figure{one}, nil
}

// drawPolicies is the recorded update, and the claim's shares before any.
func drawPolicies(p *published) ([]figure.Figure, error) {
	natural, err := p.means("ratio-factorisation", "natural merged")
	if err != nil {
		return nil, err
	}
	amplified, err := p.means("ratio-factorisation", "amplified merged")
	if err != nil {
		return nil, err
	}
	out := []figure.Figure{{Kind: figure.Bars, Name: "published", Title: "Published: tokens outside [0.8, 1.2] before any update, merged ratio, mean of ten models, learner fp32", Guess: "outside",
		Labels: []string{"fp32-splitk4", "fp16", "bf16", "fp8-w8a8"}, Y: figure.Axis{Label: "share of the tokens", Log: true},
		Series: []figure.Series{{Name: "up to the stop token", Method: figure.Clip, Y: natural}, {Name: "past the stop token", Method: figure.Uncorrected, Y: amplified}},
		Note: fmt.Sprintf("Share of tokens outside the band before any update: bf16 %s, fp8-w8a8 %s; past the stop token %s and %s.",
			written("%.2g", natural[2]), written("%.2g", natural[3]), written("%.2g", amplified[2]), written("%.2g", amplified[3])),
	}}
	var updates []record.Update
	if err := p.decode("lab/update.json", &updates); err != nil {
		return nil, err
	}
	for i := range updates {
		out = append(out, picture.Policies(&updates[i])...)
	}
	return out, nil
}

// drawRouting is the recorded flips, and the claims' KL and margins.
func drawRouting(p *published) ([]figure.Figure, error) {
	kl := figure.Figure{Kind: figure.Bars, Name: "published", Title: "Published: exact KL, mean of ten models, learner fp32",
		Labels: []string{"fp16", "bf16", "fp8-w8a8"}, Y: figure.Axis{Label: "nats", Log: true}}
	for _, s := range []struct {
		name, series string
		method       figure.Method
	}{
		{"no replay", "natural free", figure.Uncorrected}, {"experts replayed (R3)", "natural replayed", figure.R3},
		{"experts and gates", "natural ids and gates", figure.OPSM}, {"dense model of the same size", "natural dense", figure.Equal},
	} {
		y, err := p.means("replay-drop", s.series)
		if err != nil {
			return nil, err
		}
		kl.Series = append(kl.Series, figure.Series{Name: s.name, Method: s.method, Y: y})
	}
	free, replayed := kl.Series[0].Y, kl.Series[1].Y
	kl.Note = fmt.Sprintf("Replaying the experts lowers the KL of bf16 from %s to %s, that of fp8-w8a8 from %s to %s.", written("%.3g", free[1]),
		written("%.3g", replayed[1]), written("%.3g", free[2]), written("%.3g", replayed[2]))
	margins, err := drawMargins(p)
	if err != nil {
		return nil, err
	}
	out := []figure.Figure{kl, margins}
	var flips []record.Flips
	if err := p.decode("lab/flips.json", &flips); err != nil {
		return nil, err
	}
	for i := range flips {
		out = append(out, picture.Flips(&flips[i])...)
	}
	return out, nil
}

// drawMargins is the share of flips by tenth of the router's margin.
func drawMargins(p *published) (figure.Figure, error) {
	flips, err := p.means("router-flips", "chain-base flips by margin")
	if err != nil {
		return figure.Figure{}, err
	}
	decisions, err := p.means("router-flips", "chain-base decisions by margin")
	if err != nil {
		return figure.Figure{}, err
	}
	m := figure.Figure{Kind: figure.Bars, Name: "margins", Title: "Published: routing decisions that flip, by tenth of the router margin, bf16",
		Y: figure.Axis{Label: "share of the decisions"}}
	share := make([]float64, len(flips))
	for i := range flips {
		share[i] = flips[i] / decisions[i]
		m.Labels = append(m.Labels, fmt.Sprint(i+1))
	}
	m.Series = []figure.Series{{Name: "flips", Method: figure.R3, Y: share}}
	m.Note = fmt.Sprintf("%.1f%% of the decisions in the lowest tenth of the margins flip, %.2f%% in the fifth.", 100*share[0], 100*share[4])
	return m, nil
}
