package loss

// Controller adjusts the coefficient of a KL penalty towards a target, as in
// Ziegler et al. (1909.08593, section 2.2):
//
//	β ← β·(1 + clip(KL/target - 1, -0.2, 0.2)·n/horizon)
//
// The zero value is fixed. β does not fall below 0, which n > 5·horizon would
// allow in verl's form.
type Controller struct {
	// Target is the KL to hold, in nats per token as the caller measures it; 0
	// keeps the coefficient fixed.
	Target float64 `yaml:"target" range:"0=a fixed coefficient|(0,inf]"`
	// Horizon is the number of responses over which a deviation of 20 per cent
	// changes the coefficient by as much.
	Horizon float64 `yaml:"horizon" default:"10000"`
}

// Next returns the coefficient after a step that measured kl over n responses.
func (c Controller) Next(coef, kl float64, n int) float64 {
	if c.Target == 0 {
		return coef
	}
	deviation := clamp(kl/c.Target-1, -0.2, 0.2)
	return coef * max(0, 1+deviation*float64(n)/c.Horizon)
}
