package elementary

import "math/big"

// The functions in 320 bits, by series that have nothing in common with the
// package's but their sums.

const bigBits = 320

func newBig(x float64) *big.Float { return new(big.Float).SetPrec(bigBits).SetFloat64(x) }

// bigExp is e^x: x is halved 2^n times until a short series does, and squared back.
func bigExp(x *big.Float) *big.Float {
	if x.Sign() < 0 {
		y := bigExp(newBig(0).Neg(x))
		return y.Quo(newBig(1), y)
	}
	const halvings = 40
	r := newBig(0).SetMantExp(x, -halvings)
	r.SetPrec(bigBits)
	// (e^r-1) squares back as (1+d)² - 1 = d(d+2), which keeps small values exact.
	d, term := newBig(0), newBig(1)
	for k := 1.0; k < 30; k++ {
		term.Mul(term, r)
		term.Quo(term, newBig(k))
		d.Add(d, term)
	}
	for range halvings {
		d.Mul(d, newBig(0).Add(d, newBig(2)))
	}
	return d.Add(d, newBig(1))
}

// bigAtanh is the series of atanh, for small x.
func bigAtanh(x *big.Float) *big.Float {
	square, power, total := newBig(0).Mul(x, x), newBig(0).Set(x), newBig(0)
	for k := 1.0; k < 400; k += 2 {
		total.Add(total, newBig(0).Quo(power, newBig(k)))
		power.Mul(power, square)
		if power.Sign() == 0 || power.MantExp(nil) < x.MantExp(nil)-bigBits {
			break
		}
	}
	return total
}

var (
	bigLn2 = newBig(0).Mul(newBig(2), bigAtanh(newBig(0).Quo(newBig(1), newBig(3))))
	bigPi  = func() *big.Float { // Machin: 16 atan(1/5) - 4 atan(1/239)
		atan := func(inverse float64) *big.Float {
			total, power := newBig(0), newBig(0).Quo(newBig(1), newBig(inverse))
			square := newBig(inverse * inverse)
			for k := 1.0; k < 300; k += 2 {
				term := newBig(0).Quo(power, newBig(k))
				if int(k)&2 != 0 {
					term.Neg(term)
				}
				total.Add(total, term)
				power.Quo(power, square)
			}
			return total
		}
		return newBig(0).Sub(newBig(0).Mul(newBig(16), atan(5)), newBig(0).Mul(newBig(4), atan(239)))
	}()
)

// bigLog is the logarithm of x > 0.
func bigLog(x *big.Float) *big.Float {
	m := newBig(0)
	e := x.MantExp(m)
	if m.Cmp(newBig(0.70710678)) < 0 {
		m.Mul(m, newBig(2))
		e--
	}
	s := bigAtanh(newBig(0).Quo(newBig(0).Sub(m, newBig(1)), newBig(0).Add(m, newBig(1))))
	return s.Add(s, s).Add(s, newBig(0).Mul(newBig(float64(e)), bigLn2))
}

// bigCosPi is cos(πx) for |x| < 2^40.
func bigCosPi(x float64) *big.Float {
	// cos(πx) for the remainder of x by 2: an exact one.
	r := newBig(x)
	turns, _ := newBig(0).Quo(r, newBig(2)).Int64()
	r.Sub(r, newBig(float64(2*turns)))
	r.Mul(r, bigPi)
	square, term, total := newBig(0).Mul(r, r), newBig(1), newBig(1)
	for k := 1.0; k < 200; k += 2 {
		term.Mul(term, square)
		term.Quo(term, newBig(-k*(k+1)))
		total.Add(total, term)
	}
	return total
}
