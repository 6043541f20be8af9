package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"driftlab/results/lab"
)

// readGuesses asks for a guess to each question of a lesson. A guess of another kind than
// asked for is refused with a reason and asked for again; an empty line skips the question,
// the end of the input all that are left.
func readGuesses(in *bufio.Reader, out io.Writer, l *lab.Lesson) []string {
	guesses := make([]string, len(l.Guess))
	for i, g := range l.Guess {
		fmt.Fprintln(out, g.Ask)
		for j, option := range g.Options {
			fmt.Fprintf(out, "  %d. %s\n", j+1, option)
		}
		for {
			fmt.Fprintf(out, "Your guess, %s (Enter to skip): ", g.Expected())
			line, end := in.ReadString('\n')
			line = strings.TrimSpace(line)
			if line != "" {
				guess, err := g.Parse(line)
				if err == nil {
					guesses[i] = guess
					break
				}
				fmt.Fprintf(out, "%q is no such guess: %v.\n", line, err)
			}
			if end != nil {
				fmt.Fprintln(out)
				return guesses
			}
			if line == "" {
				break
			}
		}
	}
	fmt.Fprintln(out)
	return guesses
}
