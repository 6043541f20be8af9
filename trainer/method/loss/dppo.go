package loss

import (
	"slices"

	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// DPPO masks the tokens whose update would push their probability further out
// of a band in divergence, and weights the rest by a capped, detached ratio.
//
// The official anchor is the rollout policy, and its recompute variants, like
// verl, compare with old: anchor sets the denominator of the ratio, mask_anchor
// the band's. The cap is 20 in the survey, 10 in Stable-RL; verl's default of 20
// never fires, because clip_ratio_c is 3. SkyRL keeps the ratio in the graph
// without a cap (live_ratio): the same gradient, another value.
type DPPO struct {
	// DeltaLow and DeltaHigh are the band: probabilities for tv, nats for kl.
	DeltaLow  float64 `yaml:"delta_low" default:"0.15" range:"[0,inf]"`
	DeltaHigh float64 `yaml:"delta_high" default:"0.15" range:"[0,inf]"`
	// Cap is c; 0 is none.
	Cap float64 `yaml:"cap" default:"20" range:"0=none|[1,inf]"`
	// LiveRatio leaves r in the graph, uncapped.
	LiveRatio bool `yaml:"live_ratio"`
	// LogClamp bounds the log-ratio; 0 is no bound.
	LogClamp float64 `yaml:"log_clamp" default:"20" range:"[0,inf]"`
	// Anchor is the denominator of the ratio.
	Anchor Anchor `yaml:"anchor" default:"roll" oneof:"old roll"`
	// MaskAnchor is the policy the band is measured against.
	MaskAnchor Anchor `yaml:"mask_anchor" default:"roll" oneof:"old roll"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`

	outside func(logp, anchor, a, low, high float64) bool
}

// NewDPPOTV returns the binary total-variation form, δ = 0.15.
func NewDPPOTV() *DPPO {
	p := method.New[DPPO]()
	p.outside = outsideTV
	return p
}

// NewDPPOKL returns the binary KL form, δ = 0.05.
func NewDPPOKL() *DPPO {
	p := method.New[DPPO]()
	p.DeltaLow, p.DeltaHigh, p.outside = 0.05, 0.05, outsideKL
	return p
}

// NewPPOMask returns PPO's own rule in the same detached form: Stable-RL's
// baseline, 0.2 and 0.28.
func NewPPOMask() *DPPO {
	p := method.New[DPPO]()
	p.DeltaLow, p.DeltaHigh, p.outside = 0.2, 0.28, outsideRatio
	return p
}

const dppoSource = "arXiv:2602.04879; sail-sg/Stable-RL, verl, SkyRL"

// eitherMask are the columns of its two anchors.
var eitherMask = slices.Concat(method.If("anchor or mask_anchor roll", batch.LogpRoll), method.If("anchor or mask_anchor old", batch.Anchor))

var dppoTVSpec = method.Spec{
	Name: "dppo_tv", Aliases: []string{"dppo", "dppo_binary_tv"}, Unit: method.Token,
	Does:     "Masks tokens whose update would move their probability further out of a bound on total variation from the rollout.",
	When:     "Use it for stale rollouts, to limit the change in probability and not the ratio.",
	Source:   dppoSource,
	Formula:  "L = -sg[min(r,c)]·V·A·logp; V = 0 iff A>0 and p-q > δ_high, or A≤0 and p-q < -δ_low",
	Gradient: "-min(r,c)·V·A",
	Needs:    batch.Columns{batch.Advantage}, May: eitherMask,
}

var dppoKLSpec = method.Spec{
	Name: "dppo_kl", Aliases: []string{"dppo_binary_kl"}, Unit: method.Token,
	Does:     "Masks tokens whose update would move their probability further out of a bound on the binary KL divergence from the rollout.",
	When:     "Use it if a ratio clip is too strict for rare tokens and too loose for frequent tokens.",
	Source:   dppoSource,
	Formula:  "L = -sg[min(r,c)]·V·A·logp; V = 0 iff A>0, b>δ_high, p>q, or A≤0, b>δ_low, p<q; b = KL of {token, rest}",
	Gradient: "-min(r,c)·V·A",
	Needs:    batch.Columns{batch.Advantage}, May: eitherMask,
}

var ppoMaskSpec = method.Spec{
	Name: "ppo_mask", Unit: method.Token,
	Does:     "Masks tokens that leave PPO's clip range around the rollout, and weights the others by a capped, detached ratio.",
	When:     "Use it as the control of DPPO: the same loss with a criterion on the ratio and not on a divergence.",
	Source:   dppoSource + " (loss_mode ppo)",
	Formula:  "L = -sg[min(r,c)]·V·A·logp; V = 0 iff A>0 and r > 1+δ_high, or A≤0 and r < 1-δ_low",
	Gradient: "-min(r,c)·V·A",
	Needs:    batch.Columns{batch.Advantage}, May: eitherMask,
}

// Eval computes the loss over the active tokens.
func (p *DPPO) Eval(out *Grad, in *batch.Batch) error {
	f, err := start(out, in, p.Aggregation, p.Anchor.Column(), p.MaskAnchor.Column(), batch.Advantage)
	if err != nil {
		return err
	}
	anchor, band := p.Anchor.Of(in), p.MaskAnchor.Of(in)
	masked, negative, cut := 0.0, 0.0, 0.0
	f.eachToken(func(n int) (value, dlogp float64) {
		a := in.Advantage[n]
		if p.outside(f.sg[n], band[n], a, p.DeltaLow, p.DeltaHigh) {
			masked++
			negative += count(a <= 0)
			return 0, 0
		}
		r, _ := ratio(f.sg[n]-anchor[n], p.LogClamp)
		w, above := capped(r, p.Cap)
		cut += count(above)
		if p.LiveRatio {
			r, dr := ratio(in.Now.Logp[n]-anchor[n], p.LogClamp)
			return live(a, r, dr)
		}
		return detached(w, a, in.Now.Logp[n])
	})
	out.Add("actor/pg_clipfrac", f.mean(masked))
	f.addKL(anchor, p.LogClamp)
	out.Add("actor/pg_clipfrac_lower", f.mean(cut))
	out.Add("dppo/masked_negative", f.mean(negative))
	return nil
}

func (p *DPPO) rule(r *rule) {
	band := p.MaskAnchor.Of(r.in)
	r.ratio("r", p.Anchor.logRatio(), p.LogClamp)
	r.drop(func(n int) bool { return p.outside(r.sg[n], band[n], r.in.Advantage[n], p.DeltaLow, p.DeltaHigh) })
	if !p.LiveRatio {
		r.capped(p.Cap)
		return
	}
	if p.Cap > 0 {
		r.Given("cap", p.Cap)
		r.Formula("w", "min(r, cap)")
	} else {
		r.Formula("w", "r")
	}
	r.kept("-A·r", "-A·r")
}

// outsideTV is the mask of total variation of {token, rest}.
func outsideTV(logp, anchor, a, low, high float64) bool {
	d := elementary.Exp(logp) - elementary.Exp(anchor)
	if a > 0 {
		return d > high
	}
	return d < -low
}

// outsideRatio is PPO's rule as a mask.
func outsideRatio(logp, anchor, a, low, high float64) bool {
	r, _ := ratio(logp-anchor, 20)
	if a > 0 {
		return r > 1+high
	}
	return r < 1-low
}

// outsideKL is the mask of the KL divergence of {token, rest}.
func outsideKL(logp, anchor, a, low, high float64) bool {
	b := binaryKL(logp, anchor)
	if a > 0 {
		return b > high && logp > anchor
	}
	return b > low && logp < anchor
}

// binaryKL is KL(anchor‖current) of the two outcomes {token, rest}. The 1e-8
// of Stable-RL, verl and SkyRL keeps a probability of 1 harmless.
func binaryKL(logp, anchor float64) float64 {
	p, q := elementary.Exp(logp), elementary.Exp(anchor)
	return float64(q*(anchor-logp)) + float64((1-q)*elementary.Log((1-q+1e-8)/(1-p+1e-8)))
}
