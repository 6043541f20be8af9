package correction

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// TokenTIS is token-level truncated importance sampling. It bounds the variance of every
// token's weight and leaves the bias of correcting the last token only, not the prefix it
// follows.
type TokenTIS struct {
	// Cap is the upper truncation; below 1 it would rescale on-policy data. verl, SkyRL and slime take 2, FlashRL 2 to 8.
	Cap float64 `yaml:"cap" default:"2" range:"[1,inf]"`
	// Floor is the lower truncation, 0 for none; slime's tis_clip_low.
	Floor float64 `yaml:"floor" range:"[0,1]"`
	// FromTurn is the first turn whose tokens are weighed: 1 weighs what follows a tool's
	// reply and nothing before it. Tokens of earlier turns have weight 1.
	FromTurn int `yaml:"from_turn" range:"[0,1024]"`
}

var tokenTisSpec = method.Spec{
	Name: "token_tis", Aliases: []string{"tis"}, Unit: method.Token,
	Does:    "Multiplies each token's loss by min(old/mu, cap): token-level truncated importance sampling (TIS).",
	When:    "Use it as the usual first correction of a rollout engine's mismatch: low variance, at the price of a bias.",
	Source:  "verl rollout_corr_helper rollout_is=token; SkyRL; slime; FlashRL",
	Formula: "w_t = min(max(ρ_t, floor), cap) from turn from_turn on, 1 before;  ρ_t = exp(clamp(old_t − roll_t, ±20))",
	Needs:   batch.Columns{batch.LogpRoll, batch.Anchor}, May: method.If("from_turn above 0", batch.Turn),
}

// Weigh fills one weight per token.
func (m *TokenTIS) Weigh(w *Weights, in *Input) error {
	if m.FromTurn > 0 {
		if err := in.Require(batch.Turn); err != nil {
			return err
		}
	}
	for n, counts := range in.Mask {
		if counts {
			r := in.ratio(in.LogRatio[n])
			w.Raw[n], w.Applied[n] = r, 1
			if m.weighs(in, n) {
				w.Applied[n] = truncate(r, m.Floor, m.Cap)
			}
		}
	}
	return nil
}

// weighs reports whether token n is of a turn whose tokens have a weight.
func (m *TokenTIS) weighs(in *Input, n int) bool {
	return m.FromTurn == 0 || int(in.Turn[n]) >= m.FromTurn
}

// Level is token.
func (*TokenTIS) Level() method.Unit { return method.Token }

// Bounds are floor and cap.
func (m *TokenTIS) Bounds() (low, high float64) { return m.Floor, m.Cap }

func (m *TokenTIS) rule(in *Input) rule {
	if m.FromTurn == 0 {
		return rule{raw: in.exp("e"), applied: "clip(ρ, low, high)"}
	}
	weighed := trace.Line{Name: "weighed", Value: func(n int) float64 {
		if m.weighs(in, n) {
			return 1
		}
		return 0
	}}
	return rule{raw: in.exp("e"), lines: []trace.Line{weighed}, applied: "max(weighed·clip(ρ, low, high), 1 - weighed)"}
}
