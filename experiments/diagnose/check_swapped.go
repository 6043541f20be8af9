package diagnose

import (
	"fmt"
	"math"
)

// swapped asks of which column the law is that was sampled from: the mean of ρ = exp(old - roll) is 1 if it is the
// rollout column's, that of 1/ρ if it is the learner's.
type swapped struct{ forward, backward lawIdentity }

func (c *swapped) add(v *view) {
	c.forward.add(v)
	for i, rho := range v.ratio {
		c.backward.count(1/rho, v, i)
	}
}

func (c *swapped) judge(e *evidence) outcome {
	z, back := c.forward.z(), c.backward.z()
	switch {
	case e.found["structured-gap"].result != Pass: // of a raw rollout column the same is true
		return notApplicable("the sampling settings may differ")
	case z <= lawFault || math.Abs(back) > lawWatch || c.forward.most > onlyOne*c.forward.sum:
		return pass(z, "")
	}
	n := float64(max(c.forward.n, 1))
	return fail(z, fmt.Sprintf("the tokens were drawn from the learner's column: the mean of exp(roll - old) is %.4f (z %+.1f), that of exp(old - roll) %.4f (z %+.1f): the two columns are swapped",
		c.backward.sum/n, back, c.forward.sum/n, z), "swap them back: d is the learner's log-prob less the rollout engine's")
}
