package results

import (
	"math"
	"strconv"

	"driftlab/results/figure"
)

// shades are the least |log ratio| of each depth of colour, with the ratios that are it.
var shades = [...]struct {
	least      float64
	less, more string
}{{0.02, "0.98", "1.02"}, {0.1, "0.90", "1.11"}, {0.3, "0.74", "1.35"}, {math.Ln2, "0.50", "2.00"}}

// RatioLevel is the shade of a token by the log of the ratio of two probabilities, how much
// likelier the second engine finds it: below zero where it finds it less likely.
func RatioLevel(logRatio float64) int {
	depth := 0
	for _, s := range shades {
		if math.Abs(logRatio) >= s.least {
			depth++
		}
	}
	if logRatio < 0 {
		return -depth
	}
	return depth
}

// shadeClass is the class of a token: less or more, and how deep; empty without a shade.
func shadeClass(level int) string {
	switch {
	case level == 0:
		return "token"
	case level < 0:
		return "token less" + strconv.Itoa(-level)
	}
	return "token more" + strconv.Itoa(level)
}

// shadeKey are the shades with the ratios from which on they are used.
func shadeKey() []figure.Token {
	key := []figure.Token{{Text: "1"}}
	for i, s := range shades {
		key = append([]figure.Token{{Text: "below " + s.less, Level: -i - 1}}, append(key, figure.Token{Text: "above " + s.more, Level: i + 1})...)
	}
	return key
}
