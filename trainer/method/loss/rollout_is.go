package loss

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// RolloutIS is REINFORCE with the ratio to the rollout policy kept inside a
// band and zero outside: IcePop in bypass mode.
//
// SkyRL's bounds are strict.
type RolloutIS struct {
	// EpsLow and EpsHigh are the distances of the bounds from 1.
	EpsLow  float64 `yaml:"eps_low" default:"0.5" range:"[0,inf]"`
	EpsHigh float64 `yaml:"eps_high" default:"4" range:"[0,inf]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

var rolloutISSpec = method.Spec{
	Name: "rollout_is", Aliases: []string{"icepop"}, Unit: method.Token,
	Does:     "Weights the policy gradient by the detached ratio new/mu inside a band and drops tokens outside (IcePop in bypass mode).",
	When:     "Use it if the trainer does not score old and IcePop is wanted.",
	Source:   "arXiv:2510.18855 (IcePop); SkyRL rollout_is",
	Formula:  "L = -sg[w·1[1-ε_low < w < 1+ε_high]]·A·logp, w = exp(logp-roll)",
	Gradient: "-w·A inside the band, else 0",
	Needs:    batch.Columns{batch.LogpRoll, batch.Advantage},
}

// Eval computes the loss over the active tokens.
func (p *RolloutIS) Eval(out *Grad, in *batch.Batch) error {
	f, err := start(out, in, p.Aggregation, batch.LogpRoll, batch.Advantage)
	if err != nil {
		return err
	}
	dropped := 0.0
	f.eachToken(func(n int) (value, dlogp float64) {
		w, _ := ratio(f.sg[n]-in.LogpRoll[n], 20)
		if w <= 1-p.EpsLow || w >= 1+p.EpsHigh {
			dropped++
			return 0, 0
		}
		return detached(w, in.Advantage[n], in.Now.Logp[n])
	})
	out.Add("actor/pg_clipfrac", f.mean(dropped))
	f.addKL(in.LogpRoll, 20)
	return nil
}

func (p *RolloutIS) rule(r *rule) {
	r.ratio("w", "logp - roll", 20)
	r.band(1-p.EpsLow, 1+p.EpsHigh)
	r.Branch(trace.Case{Branch: trace.Dropped, When: "w ≤ low", Value: "0", Slope: "0"},
		trace.Case{Branch: trace.Dropped, When: "w ≥ high", Value: "0", Slope: "0"})
	r.detached("")
}
