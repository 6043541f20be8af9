package correction

import (
	"fmt"
	"math"
	"slices"

	"driftlab/trainer/method"
)

// unbounded is the upper bound that never binds.
var unbounded = math.Inf(1)

// oneOf returns an error that names the field unless value is in the list.
func oneOf(field, value string, known ...string) error {
	if !slices.Contains(known, value) {
		return fmt.Errorf("%s: %w", field, method.UnknownName(value, known))
	}
	return nil
}
