package correction

import (
	"fmt"
	"math"
	"slices"

	"driftlab/trainer/method"
)

// checkCap is the rule for truncating weights: a cap below 1 would rescale
// on-policy data, a floor above 1 likewise.
func checkCap(low, high float64) error {
	switch {
	case !(high >= 1):
		return fmt.Errorf("cap is %v, must be at least 1: below 1 it rescales on-policy data", high)
	case !(low >= 0 && low <= 1):
		return fmt.Errorf("floor is %v, must be between 0 and 1", low)
	}
	return nil
}

// checkBand is the rule for bands of a ratio.
func checkBand(low, high float64) error {
	switch {
	case !(low >= 0):
		return fmt.Errorf("low is %v, must not be negative", low)
	case !(high > 0):
		return fmt.Errorf("high is %v, must be positive", high)
	case low > high:
		return fmt.Errorf("low is %v, above high, %v", low, high)
	}
	return nil
}

// checkEps is the rule for constants added to a count.
func checkEps(eps float64) error {
	if !(eps >= 0) {
		return fmt.Errorf("eps is %v, must not be negative", eps)
	}
	return nil
}

// unbounded is the upper bound that never binds.
var unbounded = math.Inf(1)

// oneOf returns an error that names the field unless value is in the list.
func oneOf(field, value string, known ...string) error {
	if !slices.Contains(known, value) {
		return fmt.Errorf("%s: %w", field, method.UnknownName(value, known))
	}
	return nil
}
