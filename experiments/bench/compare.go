package bench

import (
	_ "embed" // of the heads of tables
	"fmt"
	"slices"

	"driftlab/results/figure"
	"driftlab/results/stats"
)

//go:embed heads.yaml
var headsText []byte

// head is a table of this package without its rows.
var head = figure.Heads(headsText)

// Comparison is the document of bench --against --json.
type Comparison struct {
	Against string           `json:"against"`
	Rounds  int              `json:"rounds"`
	Figures []comparedFigure `json:"figures"`
}

// comparedFigure is one figure of both builds over the rounds.
type comparedFigure struct {
	Name string `json:"name"`
	Here spread `json:"here"`
	// There is the other build's.
	There spread `json:"there"`
	// Ratio is the ratio of the two, round by round, above 1 where this build is better:
	// of its rates to the other's, of the other's times and memory to its own.
	Ratio spread `json:"ratio"`
}

// spread is a median between the ends.
type spread struct {
	Least  float64 `json:"least"`
	Median float64 `json:"median"`
	Most   float64 `json:"most"`
}

// Build is what a program that has bench reported of itself, round by round.
type Build struct {
	figures [][]float64 // by comparedFigures, then by round
}

// Add takes a round up: the document of bench --json, and the processor time in seconds.
func (b *Build) Add(doc map[string]any, processor float64) error {
	if b.figures == nil {
		b.figures = make([][]float64, len(comparedFigures))
	}
	for i, f := range comparedFigures {
		value := processor
		if f.key != "" {
			var ok bool
			if value, ok = doc[f.key].(float64); !ok {
				return fmt.Errorf("its bench --json has no %s", f.key)
			}
		}
		b.figures[i] = append(b.figures[i], f.scale*value)
	}
	return nil
}

// comparedFigures are what every build tells of itself, and its processor time.
var comparedFigures = []struct {
	name, key string
	cost      bool // less is better
	scale     float64
}{
	{"generate, tokens/s", "gen_tok_s", false, 1},
	{"score, tokens/s", "score_tok_s", false, 1},
	{"train, tokens/s", "train_tok_s", false, 1},
	{"step, s", "step_s", true, 1},
	{"peak memory, MiB", "peak_bytes", true, 1.0 / (1 << 20)},
	{"processor time of all, s", "", true, 1},
}

// Compare puts the figures of this build and of the one called against side by side.
func Compare(against string, here, there *Build) Comparison {
	doc := Comparison{Against: against, Rounds: len(here.figures[0])}
	for i, f := range comparedFigures {
		x := comparedFigure{Name: f.name, Here: spreadOf(here.figures[i]), There: spreadOf(there.figures[i])}
		ratios := make([]float64, doc.Rounds)
		for round := range ratios {
			ratios[round] = here.figures[i][round] / there.figures[i][round]
			if f.cost {
				ratios[round] = 1 / ratios[round]
			}
		}
		x.Ratio = spreadOf(ratios)
		doc.Figures = append(doc.Figures, x)
	}
	return doc
}

func spreadOf(list []float64) spread {
	return spread{slices.Min(list), stats.Median(list), slices.Max(list)}
}

func (s spread) text(digits int) string {
	number := func(v float64) string { return figure.FormatNumber(v, digits) }
	return fmt.Sprintf("%s  (%s - %s)", number(s.Median), number(s.Least), number(s.Most))
}

// Table shows the figures of both builds to a person.
func (d Comparison) Table() *figure.Figure {
	t := head("against", d.Against, d.Rounds)
	for _, f := range d.Figures {
		t.Add(figure.Word(f.Name), figure.Word(f.Here.text(3)), figure.Word(f.There.text(3)), figure.Word(f.Ratio.text(3)))
	}
	return t
}
