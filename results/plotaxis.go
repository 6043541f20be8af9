package results

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"

	"driftlab/precision/elementary"
	"driftlab/results/figure"
)

// What an axis can show. Values beyond huge stand at its end, spans below tiny
// or below one part in 1/flat of their values are drawn as no span at all: tick
// labels carry twelve digits and could not tell their ends apart.
const (
	huge = 1e300
	tiny = 1e-300
	flat = 1e-9
)

// axisRange chooses the ends of a value axis for data between low and high.
// They are finite, apart by more than flat and, on a log axis, above zero.
func axisRange(low, high float64, log bool) (float64, float64) {
	if !(low <= high) { // no data
		if log {
			return 0.1, 10
		}
		return 0, 1
	}
	if log {
		return logRange(low, high)
	}
	a, b := spanOf(low, high)
	padding := float64(0.04 * (b - a))
	if low >= 0 && a-padding < 0 {
		return 0, b + padding // a quantity that cannot be negative keeps its floor
	}
	return a - padding, b + padding
}

// spanOf are the ends of a linear axis without padding beyond the data: low and
// high themselves, moved apart where they are too close.
func spanOf(low, high float64) (float64, float64) {
	low, high = clamp(low, -huge, huge), clamp(high, -huge, huge)
	size := math.Max(math.Abs(low), math.Abs(high))
	switch {
	case !(low <= high): // no data
		return 0, 1
	case high-low > math.Max(flat*size, tiny):
		return low, high
	case size <= tiny:
		return 0, 1
	}
	return low - float64(0.2*size), high + float64(0.2*size)
}

// logRange is axisRange of an axis in decades, of which it shows at least one.
func logRange(low, high float64) (float64, float64) {
	a, b := elementary.Log10(clamp(low, tiny, huge)), elementary.Log10(clamp(high, tiny, huge))
	padding := float64(math.Max(0.04*(b-a), (1-(b-a))/2))
	return elementary.Pow(10, math.Max(a-padding, -305)), elementary.Pow(10, math.Min(b+padding, 305))
}

// clamp is v between low and high.
func clamp(v, low, high float64) float64 { return math.Min(math.Max(v, low), high) }

// scale places values along an axis from 0 to 1, in decades or not. What lies
// far beyond the ends stays near enough to be printed and clipped.
type scale struct{ log bool }

func (s scale) Normalize(low, high, v float64) float64 {
	if s.log {
		low, high, v = elementary.Log10(low), elementary.Log10(high), elementary.Log10(math.Max(v, tiny))
	}
	return clamp((clamp(v, -huge, huge)-low)/(high-low), -100, 100)
}

// mostTicks bounds the marks of a linear axis; 1, 2 and 5 times a power of ten
// make at most seven of them.
const mostTicks = 12

// linearTicks marks the multiples of 1, 2 or 5 times a power of ten, some five
// of them, and none where the ends are not two numbers. gonum's own choice
// often leaves two labels on a short axis.
func linearTicks(low, high float64) []plot.Tick {
	rough := high/5 - low/5
	if !(rough > 0) || math.IsInf(rough, 1) {
		return nil
	}
	exponent := int(math.Floor(elementary.Log10(rough)))
	mantissa := 10
	for _, m := range []int{1, 2, 5} {
		if float64(m)*math.Pow10(exponent) >= rough*0.999 {
			mantissa = m
			break
		}
	}
	step := float64(mantissa) * math.Pow10(exponent)
	if step == 0 {
		return nil // below the smallest number
	}
	var ticks []plot.Tick
	// The count ends the loop where a step is too small to change its place.
	for n, k := 0, math.Ceil(low/step-1e-9); n < mostTicks && k*step <= high+float64(1e-9*step); n, k = n+1, k+1 {
		// Through decimal text, so that 3*0.1 is marked 0.3; +0 takes the sign off a zero.
		v, _ := strconv.ParseFloat(strconv.FormatFloat(float64(k*step)+0, 'g', 12, 64), 64)
		if !finite(v) || len(ticks) > 0 && v <= ticks[len(ticks)-1].Value {
			continue
		}
		ticks = append(ticks, plot.Tick{Value: v, Label: tickLabel(v)})
	}
	return ticks
}

// logTicks marks the decades, every n-th where there are many, and 2 and 5
// between them where there are few; none where the ends are not two positive
// numbers.
func logTicks(low, high float64) []plot.Tick {
	if !(low > 0 && high > low) || math.IsInf(high, 1) {
		return nil
	}
	span := elementary.Log10(high) - elementary.Log10(low)
	first, last := int(math.Floor(elementary.Log10(low))), int(math.Ceil(elementary.Log10(high)))
	every := max((last-first+7)/8, 1)
	inner := []int{1}
	if span < 2.5 {
		inner = []int{1, 2, 5}
	}
	var ticks []plot.Tick
	for d := first; d <= last; d++ {
		for _, m := range inner {
			v, err := strconv.ParseFloat(strconv.Itoa(m)+"e"+strconv.Itoa(d), 64)
			if err != nil || v < low || v > high {
				continue
			}
			label := ""
			if d%every == 0 {
				label = tickLabel(v)
			}
			ticks = append(ticks, plot.Tick{Value: v, Label: label})
		}
	}
	return ticks
}

// tickLabel is short: 0.001, 1, 200, 1e-5.
func tickLabel(v float64) string {
	if a := math.Abs(v); a != 0 && (a < 1e-3 || a >= 1e5) {
		return figure.ShortExponent(strconv.FormatFloat(v, 'e', -1, 64))
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
