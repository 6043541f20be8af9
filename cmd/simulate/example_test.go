package main

import (
	"fmt"
	"os"
)

// The program as a function: arguments in, exit status out.
func Example() {
	run([]string{"methods", "sync"}, os.Stdout, os.Stdout)
	status := run([]string{"train", "--set", "loss.eps_lo=0.1"}, os.Stdout, os.Stdout)
	fmt.Println("exit status", status)
	// Output:
	// sync (schedule, unit: system)
	//
	// Generates each batch with the current weights and waits for it: generation and training alternate, and the staleness is zero.
	// Use it as the on-policy control, or where idle devices cost less than staleness.
	//
	// Also called
	//   on-policy
	//
	// Source
	//   synchronous GRPO, arXiv:2402.03300; verl's colocated trainer
	//
	// Formula
	//   version_roll(s) = version(s)
	//
	// Gradient
	//   none: a schedule chooses weights
	//
	// Defaults, in a recipe under schedule
	//   no parameters
	//
	// Greatest lag
	//   0
	//
	// Example
	//   step 0: rollouts from version 0, one update -> version 1
	//   step 1: rollouts from version 1, one update -> version 2
	//   step 2: rollouts from version 2: never a stale token
	//
	// simulate: --set loss.eps_lo=0.1: loss.eps_lo: unknown field; did you mean "eps_low"?
	// exit status 2
}
