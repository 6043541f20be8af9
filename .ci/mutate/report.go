package main

import (
	"fmt"
	"os"
	"strings"
)

// readEquivalent reads the list of mutants that cannot be told from the
// original: a mutant's key on a line, its reason indented on the next.
func readEquivalent(path string) (map[string]bool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	excused := map[string]bool{}
	key := ""
	for n, line := range strings.Split(string(text), "\n") {
		reason := strings.TrimSpace(line)
		switch {
		case reason == "" || strings.HasPrefix(line, "#"):
		case line[0] != ' ' && line[0] != '\t':
			if key != "" && !excused[key] {
				return nil, fmt.Errorf("%s:%d: the mutant above has no reason", path, n+1)
			}
			if key = strings.TrimRight(line, " "); excused[key] {
				return nil, fmt.Errorf("%s:%d: listed twice", path, n+1)
			}
		case key == "":
			return nil, fmt.Errorf("%s:%d: a reason without a mutant", path, n+1)
		default:
			excused[key] = true
		}
	}
	return excused, nil
}

// report prints a package's survivors and its share of the dead, and tells
// whether the goal is met and the list of equivalents true.
func report(s *subject, verdicts []verdict, excused map[string]bool, goal float64) bool {
	count := map[verdict]int{}
	equivalent, good := 0, true
	known := map[string]bool{}
	for i, m := range s.mutants {
		known[m.Key] = true
		v := verdicts[i]
		switch {
		case excused[m.Key] && v == died:
			good = false
			fmt.Printf("%s\n    line %d: listed as equivalent, but the tests tell it from the original: take it off the list\n", m.Key, m.Line)
		case excused[m.Key] && v != uncovered:
			equivalent++
			continue
		case v != died:
			fmt.Printf("%s\n    line %d: %s\n", m.Key, m.Line, v)
		}
		count[v]++
	}
	for key := range excused {
		if file, _, _ := strings.Cut(key, " "); file[:strings.LastIndex(file, "/")] == s.dir && !known[key] {
			good = false
			fmt.Printf("%s\n    listed as equivalent, but there is no such mutant: take it off the list\n", key)
		}
	}
	covered := count[died] + count[lived] + count[timedOut]
	share := 100 * float64(count[died]) / float64(max(covered, 1))
	fmt.Printf("%-20s %5d mutants: %d died, %d lived, %d timed out, %d equivalent, %d not covered: %.1f %% of the covered died",
		s.dir, len(s.mutants), count[died], count[lived], count[timedOut], equivalent, count[uncovered], share)
	if covered > 0 && share < goal {
		good = false
		fmt.Printf(", below the goal of %g %%", goal)
	}
	fmt.Println()
	return good
}
