package correction

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// TokenTIS is token-level truncated importance sampling. It bounds the variance of every
// token's weight and leaves the bias of correcting the last token only, not the prefix it
// follows.
type TokenTIS struct {
	// Cap is the upper truncation; below 1 it would rescale on-policy data. verl, SkyRL and slime take 2, FlashRL 2 to 8.
	Cap float64 `yaml:"cap" default:"2" range:"[1,inf]"`
	// Floor is the lower truncation, 0 for none; slime's tis_clip_low.
	Floor float64 `yaml:"floor" range:"[0,1]"`
}

var tokenTisSpec = method.Spec{
	Name: "token_tis", Aliases: []string{"tis"}, Unit: method.Token,
	Does:    "Multiplies each token's loss by min(old/mu, cap): token-level truncated importance sampling (TIS).",
	When:    "Use it as the usual first correction of a rollout engine's mismatch: low variance, at the price of a bias.",
	Source:  "verl rollout_corr_helper rollout_is=token; SkyRL; slime; FlashRL",
	Formula: "w_t = min(max(ρ_t, floor), cap),  ρ_t = exp(clamp(old_t − roll_t, ±20))",
	Needs:   batch.Columns{batch.LogpRoll, batch.Anchor},
}

// Weigh fills one weight per token.
func (m *TokenTIS) Weigh(w *Weights, in *Input) error {
	for n, counts := range in.Mask {
		if counts {
			r := in.ratio(in.LogRatio[n])
			w.Raw[n], w.Applied[n] = r, truncate(r, m.Floor, m.Cap)
		}
	}
	return nil
}

// Level is token.
func (*TokenTIS) Level() method.Unit { return method.Token }

// Bounds are floor and cap.
func (m *TokenTIS) Bounds() (low, high float64) { return m.Floor, m.Cap }

func (*TokenTIS) rule(in *Input) rule { return rule{raw: in.exp("e"), applied: "clip(ρ, low, high)"} }
