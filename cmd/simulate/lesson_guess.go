package main

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
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
			fmt.Fprintf(out, "Your guess, %s (Enter to skip): ", expected(g))
			line, end := in.ReadString('\n')
			line = strings.TrimSpace(line)
			if line != "" {
				guess, err := parseGuess(g, line)
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

// expected says what a guess looks like.
func expected(g lab.Guess) string {
	switch g.Kind {
	case "share":
		return "a percentage from 0 to 100"
	case "decade":
		return fmt.Sprintf("a power of ten from 1e%g to 1e%g", g.Low, g.High)
	case "curve":
		return fmt.Sprintf("%d percentages, at %s", len(g.X), strings.Trim(fmt.Sprint(g.X), "[]"))
	case "choice":
		return fmt.Sprintf("a number from 1 to %d", len(g.Options))
	case "rank":
		return fmt.Sprintf("the numbers 1 to %d in your order", len(g.Options))
	}
	return strings.TrimSpace(fmt.Sprintf("a number from %g to %g %s", g.Low, g.High, g.Unit))
}

// parseGuess reads a guess and returns it in words.
func parseGuess(g lab.Guess, text string) (string, error) {
	switch g.Kind {
	case "share":
		share, err := percentage(text)
		return fmt.Sprintf("%.3g %%", share), err
	case "decade":
		text = strings.TrimPrefix(strings.Replace(text, "10^", "1e", 1), "1e")
		power, err := strconv.Atoi(text)
		if err != nil || float64(power) < g.Low || float64(power) > g.High {
			return "", fmt.Errorf("expected %s", expected(g))
		}
		return fmt.Sprintf("1e%d", power), nil
	case "curve":
		words := split(strings.ReplaceAll(text, "%", " "))
		if len(words) != len(g.X) {
			return "", fmt.Errorf("expected %d percentages, found %d", len(g.X), len(words))
		}
		for i, word := range words {
			share, err := percentage(word)
			if err != nil {
				return "", err
			}
			words[i] = fmt.Sprintf("%.3g %% at %g", share, g.X[i])
		}
		return strings.Join(words, ", "), nil
	case "choice":
		return option(g, text)
	case "rank":
		var ranked []string
		for _, word := range split(text) {
			name, err := option(g, word)
			if err != nil {
				return "", err
			}
			if slices.Contains(ranked, name) {
				return "", fmt.Errorf("%s occurs twice", word)
			}
			ranked = append(ranked, name)
		}
		if len(ranked) != len(g.Options) {
			return "", fmt.Errorf("expected %s", expected(g))
		}
		return strings.Join(ranked, ", then "), nil
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(text, g.Unit)), 64)
	if err != nil || !(x >= g.Low && x <= g.High) {
		return "", fmt.Errorf("expected %s", expected(g))
	}
	return strings.TrimSpace(fmt.Sprintf("%g %s", x, g.Unit)), nil
}

// percentage reads a share, with or without its sign.
func percentage(text string) (float64, error) {
	x, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(text, "%")), 64)
	if err != nil || math.IsNaN(x) || x < 0 || x > 100 {
		return 0, fmt.Errorf("expected a percentage from 0 to 100")
	}
	return x, nil
}

// option reads one of a guess's options, by its number or its name.
func option(g lab.Guess, text string) (string, error) {
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(g.Options) {
		return g.Options[n-1], nil
	}
	for _, o := range g.Options {
		if strings.EqualFold(o, text) {
			return o, nil
		}
	}
	return "", fmt.Errorf("expected %s", expected(g))
}

// split are words with spaces or commas between them.
func split(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' })
}
