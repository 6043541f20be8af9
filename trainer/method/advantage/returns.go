package advantage

import "driftlab/trainer/method/batch"

// Holes says what a discounted sum does at tokens the policy did not generate:
// tool output in a response, padding behind it.
type Holes string

// The rules for holes.
const (
	// Carry passes the running sum through unchanged (verl).
	Carry Holes = "carry"
	// Reset starts again from 0: tokens before a hole never see a later reward
	// (SkyRL's reinforce++, verl before its fix).
	Reset Holes = "reset"
	// Through treats them as ordinary tokens, reward and discount (ROLL, slime).
	Through Holes = "through"
)

// returns fills b.Return with the discounted reward to come of every token.
func returns(b *batch.Batch, gamma float64, holes Holes) error {
	if err := b.Require(batch.Mask, batch.TokenReward); err != nil {
		return err
	}
	b.Return = batch.Zeroed(b.Return, b.Tokens())
	for i := range b.Len() {
		from, to := b.Span(i)
		running := 0.0
		for n := to - 1; n >= from; n-- {
			next := b.TokenReward[n] + float64(gamma*running)
			switch {
			case b.Mask[n] || holes == Through:
				running = next
			case holes == Reset:
				b.Return[n] = next
				running = 0
				continue
			}
			b.Return[n] = running
		}
	}
	return nil
}
