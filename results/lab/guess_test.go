package lab

import (
	"strings"
	"testing"
)

// TestParseGuess: a guess is of the kind that was asked for, or is refused.
func TestParseGuess(t *testing.T) {
	share := Guess{Kind: "share", High: 1}
	number := Guess{Kind: "number", High: 10, Unit: "seeds"}
	decade := Guess{Kind: "decade", Low: -14}
	curve := Guess{Kind: "curve", X: []float64{32, 64}}
	choice := Guess{Kind: "choice", Options: []string{"k = 1", "none of these"}}
	for _, c := range []struct {
		guess      Guess
		text, want string // empty: refused
	}{
		{share, "0.35", "0.35 %"}, {share, "78.9 %", "78.9 %"}, {share, "-1", ""}, {share, "101", ""}, {share, "banana", ""}, {share, "nan", ""},
		{number, "9", "9 seeds"}, {number, "9 seeds", "9 seeds"}, {number, "11", ""}, {number, "many", ""},
		{decade, "1e-4", "1e-4"}, {decade, "-4", "1e-4"}, {decade, "10^-4", "1e-4"}, {decade, "1e-15", ""}, {decade, "0.0001", ""}, {decade, "x", ""},
		{curve, "90 50", "90 % at 32, 50 % at 64"}, {curve, "90%, 50%", "90 % at 32, 50 % at 64"}, {curve, "90", ""}, {curve, "90 x", ""},
		{choice, "1", "k = 1"}, {choice, "K = 1", "k = 1"}, {choice, "3", ""}, {choice, "k", ""},
	} {
		got, err := c.guess.Parse(c.text)
		if (err == nil) != (c.want != "") || err == nil && got != c.want {
			t.Errorf("%s %q: %q, %v; want %q", c.guess.Kind, c.text, got, err, c.want)
		}
	}
}

// TestEveryGuessCanBeMade: the published answer of each lesson is itself a guess.
func TestEveryGuessCanBeMade(t *testing.T) {
	for _, l := range Load().Lessons {
		for _, g := range l.Guess {
			text := g.TruthText
			if g.Kind == "curve" {
				var shares []string
				for point := range strings.SplitSeq(text, ",") {
					shares = append(shares, strings.Fields(point)[0])
				}
				text = strings.Join(shares, " ")
			}
			if got, err := g.Parse(text); err != nil || got != g.TruthText {
				t.Errorf("%s, %s: %q is %q, %v", l.Name, g.Key, g.TruthText, got, err)
			}
		}
	}
}
