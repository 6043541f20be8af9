package loss

import (
	"math/rand/v2"
	"testing"

	"driftlab/trainer/method"
)

// Where no router has moved, RSPO is ppo_clip; where one has, it is ppo_clip on a ratio that is smaller by the
// same factor, at the floor at the least.
func TestRSPOReducesToItsBase(t *testing.T) {
	b := nastyBatch(3, false)
	b.Weight, b.Layers, b.TopK = nil, 2, 2
	r := rand.New(rand.NewPCG(5, 5))
	for range b.Tokens() * b.Layers * b.TopK {
		b.Old.Routes, b.Old.RouterLogp = append(b.Old.Routes, uint8(r.IntN(8))), append(b.Old.RouterLogp, -3*r.Float64())
	}
	for _, form := range []string{"mean", "product", "geometric"} {
		l := method.New[RSPO]()
		l.Form, l.Floor = form, 0
		base := &PPOClip{EpsLow: l.EpsLow, EpsHigh: l.EpsHigh, LogClamp: l.LogClamp, Aggregation: l.Aggregation}
		b.Now.RouterLogp = b.Old.RouterLogp
		same(t, form+": routers as they were", eval(t, l, b).DLogp, eval(t, base, b).DLogp)

		// Every log-prob of a router moves by 0.01: mean and geometric have exp(-0.01), product of two layers exp(-0.02).
		b.Now.RouterLogp = make([]float64, len(b.Old.RouterLogp))
		for at, x := range b.Old.RouterLogp {
			b.Now.RouterLogp[at] = x + 0.01*float64(1-2*(at%2))
		}
		moved := *b
		shift := 0.01
		if form == "product" {
			shift = 0.02
		}
		moved.Anchor = make([]float64, b.Tokens())
		for n, x := range b.Anchor {
			moved.Anchor[n] = x + shift
		}
		same(t, form+": routers have moved", eval(t, l, b).DLogp, eval(t, base, &moved).DLogp)
	}
}
