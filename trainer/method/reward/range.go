package reward

import "fmt"

// within returns what is wrong with a number that must lie in [low, high], or
// nil. NaN is wrong.
func within(field string, x, low, high float64) error {
	if x >= low && x <= high {
		return nil
	}
	return fmt.Errorf("%s: %v is not within [%v, %v]", field, x, low, high)
}

// maxScale bounds coefficients: a reward beyond it is a slip of the pen.
const maxScale = 1e6
