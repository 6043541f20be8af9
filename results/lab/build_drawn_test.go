package lab

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"

	"driftlab/precision/must"
	"driftlab/results/figure"
	"driftlab/results/lab/picture"
	"driftlab/results/record"
	"driftlab/results/stability"
)

// drawn make pictures of what claims and runs have published.
var drawn = map[string]func(*publishedFolder) []figure.Figure{
	"length": drawLength, "policies": drawPolicies, "routing": drawRouting, "age": drawAge, "fix": drawFix, "normal": drawNormal,
}

// decode reads a recording that is no panels.
func (p *publishedFolder) decode(file string, into any) {
	must.Do(p.t, json.Unmarshal(must.Get(fs.ReadFile(p.dir, file))(p.t), into))
}

// drawLength is what the claims about length found, over their models.
func drawLength(p *publishedFolder) []figure.Figure {
	one := figure.Figure{Kind: figure.Lines, Name: "published", Title: "Published: share of responses kept, mean of ten models", Guess: "kept",
		X: figure.Axis{Label: "response length (tokens)", Log: true}, Y: figure.Axis{Label: "share kept", High: 1}}
	lengths := p.means("length-trap", "lengths")
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
		y := p.means(s.claim, s.series)
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
	return []figure.Figure{one}
}

// drawPolicies is the recorded update, and the claim's shares before any.
func drawPolicies(p *publishedFolder) []figure.Figure {
	natural, amplified := p.means("ratio-factorisation", "natural merged"), p.means("ratio-factorisation", "amplified merged")
	out := []figure.Figure{{Kind: figure.Bars, Name: "published", Title: "Published: tokens outside [0.8, 1.2] before any update, merged ratio, mean of ten models, learner fp32", Guess: "outside",
		Labels: []string{"fp32-splitk4", "fp16", "bf16", "fp8-w8a8"}, Y: figure.Axis{Label: "share of the tokens", Log: true},
		Series: []figure.Series{{Name: "up to the stop token", Method: figure.Clip, Y: natural}, {Name: "past the stop token", Method: figure.Uncorrected, Y: amplified}},
		Note: fmt.Sprintf("Share of tokens outside the band before any update: bf16 %s, fp8-w8a8 %s; past the stop token %s and %s.",
			written("%.2g", natural[2]), written("%.2g", natural[3]), written("%.2g", amplified[2]), written("%.2g", amplified[3])),
	}}
	var updates []record.Update
	p.decode("lab/update.json", &updates)
	for i := range updates {
		out = append(out, picture.Policies(&updates[i])...)
	}
	return out
}

// drawRouting is the recorded flips, and the claims' KL and margins.
func drawRouting(p *publishedFolder) []figure.Figure {
	kl := figure.Figure{Kind: figure.Bars, Name: "published", Title: "Published: exact KL, mean of ten models, learner fp32",
		Labels: []string{"fp16", "bf16", "fp8-w8a8"}, Y: figure.Axis{Label: "nats", Log: true}}
	for _, s := range []struct {
		name, series string
		method       figure.Method
	}{
		{"no replay", "natural free", figure.Uncorrected}, {"experts replayed (R3)", "natural replayed", figure.R3},
		{"experts and gates", "natural ids and gates", figure.OPSM}, {"dense model of the same size", "natural dense", figure.Equal},
	} {
		kl.Series = append(kl.Series, figure.Series{Name: s.name, Method: s.method, Y: p.means("replay-drop", s.series)})
	}
	free, replayed := kl.Series[0].Y, kl.Series[1].Y
	kl.Note = fmt.Sprintf("Replaying the experts lowers the KL of bf16 from %s to %s, that of fp8-w8a8 from %s to %s.", written("%.3g", free[1]),
		written("%.3g", replayed[1]), written("%.3g", free[2]), written("%.3g", replayed[2]))
	out := []figure.Figure{kl, drawMargins(p)}
	var flips []record.Flips
	p.decode("lab/flips.json", &flips)
	for i := range flips {
		out = append(out, picture.Flips(&flips[i])...)
	}
	return out
}

// drawNormal is the ladder of number formats next to real engines and published runs, and what such gaps did to training.
func drawNormal(p *publishedFolder) []figure.Figure {
	var pairs struct {
		Pairs []struct {
			Rollout, Learner string
			Gap              struct {
				K3           float64 `json:"k3"`
				ExactKL      float64 `json:"exact_kl"`
				MeanAbsDlogp float64 `json:"mean_abs_dlogp"`
				FlipToken    float64 `json:"flip_token"`
			}
		}
	}
	var real []struct {
		Engine, Checkpoint string
		Real               struct {
			K3 float64 `json:"k3"`
		}
	}
	p.decode("lab/pairs.json", &pairs)
	p.decode("reality/reality.json", &real)
	k3 := figure.Axis{Label: "k3 per token, nats", Log: true, Low: 1e-9, High: 10}
	formats := figure.Figure{Kind: figure.Bars, Name: "k3", Guess: "k3", Title: "k3 by number format: rollouts, learner", Y: k3, Note: "A model of this program; equal engines have exactly 0, and stand at no length."}
	means := figure.Figure{Kind: figure.Bars, Name: "mean", Guess: "mean", Title: "Mean |difference of log-probs|: rollouts, learner", Y: figure.Axis{Label: "nats", Log: true, Low: 1e-9, High: 1}}
	table := figure.Figure{Kind: figure.Table, Name: "formats", Title: "The same in numbers",
		Columns: []figure.Column{{Name: "rollouts, learner"}, {Name: "k3", Align: figure.Right}, {Name: "exact KL", Align: figure.Right}, {Name: "mean |d|", Align: figure.Right}, {Name: "tokens with another route", Align: figure.Right}}}
	var y, mean record.Floats
	for _, pair := range pairs.Pairs {
		name, g := pair.Rollout+", "+pair.Learner, pair.Gap
		formats.Labels, y, mean = append(formats.Labels, name), append(y, g.K3), append(mean, g.MeanAbsDlogp)
		table.Add(figure.Word(name), figure.Number(g.K3, 2), figure.Number(g.ExactKL, 2), figure.Number(g.MeanAbsDlogp, 2), figure.Percent(g.FlipToken, 1))
	}
	means.Labels = formats.Labels
	formats.Series, means.Series = []figure.Series{{Name: "k3", Y: y}}, []figure.Series{{Name: "mean", Y: mean}}
	engines := figure.Figure{Kind: figure.Bars, Name: "engines", Guess: "k3", Title: "Real engines on the same tokens, chain-base, learner fp32", Y: k3, Note: "llama.cpp, onnxruntime and torch; results/published/reality."}
	y = nil
	for _, r := range real {
		if r.Checkpoint == "chain-base" {
			engines.Labels, y = append(engines.Labels, r.Engine), append(y, r.Real.K3)
		}
	}
	engines.Series = []figure.Series{{Name: "k3", Y: y}}
	runs := figure.Figure{Kind: figure.Bars, Name: "runs", Guess: "k3", Title: "Published runs of real models", Y: k3}
	var low, high record.Floats
	var sources []string
	for _, g := range stability.RealGaps() {
		runs.Labels, low, high, sources = append(runs.Labels, g.Name), append(low, g.Low), append(high, g.High), append(sources, g.Name+": "+g.Source)
	}
	runs.Series, runs.Note = []figure.Series{{Name: "lowest", Method: figure.TokenTIS, Y: low}, {Name: "highest", Method: figure.Uncorrected, Y: high}}, strings.Join(sources, "; ")+"."
	ends := figure.Figure{Kind: figure.Table, Name: "ends", Title: "What such gaps did to training: 1,000 updates without a correction",
		Columns: []figure.Column{{Name: "gap"}, {Name: "k3 over the run", Align: figure.Right}, {Name: "tokens with another route", Align: figure.Right}, {Name: "pass rate at the end"}, {Name: "− equal engines"}}}
	study := stability.Published().Study("gap")
	for _, a := range study.Arms {
		if a.Method == study.None {
			ends.Add(figure.Word(a.Stressor), figure.Number(float64(a.K3), 2), figure.Percent(float64(a.Flips), 1), figure.Word(a.Level.Text(false)), figure.Word(a.GainEqual.Text(true)))
		}
	}
	return []figure.Figure{formats, engines, runs, means, ends, table}
}

// drawMargins is the share of flips by tenth of the router's margin.
func drawMargins(p *publishedFolder) figure.Figure {
	flips, decisions := p.means("router-flips", "chain-base flips by margin"), p.means("router-flips", "chain-base decisions by margin")
	m := figure.Figure{Kind: figure.Bars, Name: "margins", Title: "Published: routing decisions that flip, by tenth of the router margin, bf16",
		Y: figure.Axis{Label: "share of the decisions"}}
	share := make([]float64, len(flips))
	for i := range flips {
		share[i] = flips[i] / decisions[i]
		m.Labels = append(m.Labels, fmt.Sprint(i+1))
	}
	m.Series = []figure.Series{{Name: "flips", Method: figure.R3, Y: share}}
	m.Note = fmt.Sprintf("%.1f%% of the decisions in the lowest tenth of the margins flip, %.2f%% in the fifth.", 100*share[0], 100*share[4])
	return m
}
