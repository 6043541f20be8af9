package model

import "fmt"

// InEngines is what the weights of a model take in the two engines at least, in bytes per
// parameter: the parameters and a copy of the matrices in the order in which each engine reads them.
const InEngines = 3 * 4

// Fits returns an error if a model of a valid configuration takes more memory than the machine
// has, at perParam bytes per parameter for what is named.
func (c Config) Fits(perParam int64, what string) error {
	n, has := c.params(), MachineMemory()
	if n <= has/perParam {
		return nil
	}
	const gib = 1 << 30
	return fmt.Errorf("model: %d parameters take at least %.1f GiB (%s), and the memory of this machine is %.1f GiB: reduce layers, experts or widths",
		n, float64(n)*float64(perParam)/gib, what, float64(has)/gib)
}
