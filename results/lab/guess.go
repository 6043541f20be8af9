package lab

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Expected says what a guess is to be.
func (g Guess) Expected() string {
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

// Parse reads a guess and returns it in words, or says what was expected.
func (g Guess) Parse(text string) (string, error) {
	switch g.Kind {
	case "share":
		share, err := percentage(text)
		return fmt.Sprintf("%.3g %%", share), err
	case "decade":
		text = strings.TrimPrefix(strings.Replace(text, "10^", "1e", 1), "1e")
		power, err := strconv.Atoi(text)
		if err != nil || float64(power) < g.Low || float64(power) > g.High {
			return "", fmt.Errorf("expected %s", g.Expected())
		}
		return fmt.Sprintf("1e%d", power), nil
	case "curve":
		words := splitWords(strings.ReplaceAll(text, "%", " "))
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
		return g.option(text)
	case "rank":
		var ranked []string
		for _, word := range splitWords(text) {
			name, err := g.option(word)
			if err != nil {
				return "", err
			}
			if slices.Contains(ranked, name) {
				return "", fmt.Errorf("%s occurs twice", word)
			}
			ranked = append(ranked, name)
		}
		if len(ranked) != len(g.Options) {
			return "", fmt.Errorf("expected %s", g.Expected())
		}
		return strings.Join(ranked, ", then "), nil
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(text, g.Unit)), 64)
	if err != nil || !(x >= g.Low && x <= g.High) {
		return "", fmt.Errorf("expected %s", g.Expected())
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
func (g Guess) option(text string) (string, error) {
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(g.Options) {
		return g.Options[n-1], nil
	}
	for _, o := range g.Options {
		if strings.EqualFold(o, text) {
			return o, nil
		}
	}
	return "", fmt.Errorf("expected %s", g.Expected())
}

// splitWords are words with spaces or commas between them.
func splitWords(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' })
}
