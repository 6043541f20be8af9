// Package lesson measures what the lab's lessons show, as panels: the same for the
// recordings that are published, for `simulate lesson` and for the page's worker.
//
// What it is not: the lessons' words and their published figures are in results/lab,
// and it draws nothing.
package lesson

import "strings"

// shortened turns Go's 1e-05 into 1e-5.
func shortened(s string) string {
	return strings.NewReplacer("e-0", "e-", "e+0", "e").Replace(s)
}
