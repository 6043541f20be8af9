package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"driftlab/results"
)

// inTurns is the document of bench --against --json.
type inTurns struct {
	Against string `json:"against"`
	Rounds  int    `json:"rounds"`
	// Notes say where the two do not do the same.
	Notes   []string       `json:"notes,omitempty"`
	Figures []turnedFigure `json:"figures"`
}

// turnedFigure is one figure of both builds over the rounds.
type turnedFigure struct {
	Name string `json:"name"`
	Here spread `json:"here"`
	// There is the other build's.
	There spread `json:"there"`
	// Ratio is that of the two, round by round, above 1 where this build is better:
	// of its rates to the other's, of the other's times and memory to its own.
	Ratio spread `json:"ratio"`
}

// spread is a median between the ends.
type spread struct {
	Least  float64 `json:"least"`
	Median float64 `json:"median"`
	Most   float64 `json:"most"`
}

// build is a program that has bench.
type build struct {
	name    string // in a complaint
	path    string
	apart   bool        // knows no groups: every response has a prompt of its own
	figures [][]float64 // by turnedFigures, then by round
}

// turnedFigures are what every build tells of itself, and its processor time.
var turnedFigures = []struct {
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

// timeInTurns times this build and another, each as a process of its own, the first
// of a round last in the next.
func (c *benchCmd) timeInTurns(a *app) error {
	here, err := os.Executable()
	if err != nil {
		return err
	}
	there, err := filepath.Abs(c.Against)
	if err != nil {
		return err
	}
	if info, err := os.Stat(there); err != nil || info.IsDir() {
		return bad("--against %s: no program is there", c.Against)
	}
	pair := []*build{{name: "this build", path: here}, {name: "--against " + c.Against, path: there}}
	m := a.meter(c.Quiet, "bench", "run", 2*int(c.Rounds))
	defer m.close()
	for round := range int(c.Rounds) {
		for i := range pair {
			b := pair[(i+round)%2]
			if err := b.time(a, a.changed("bench")); err != nil {
				if err := a.ctx.Err(); err != nil {
					return err
				}
				return badInput{fmt.Errorf("%s: %w", b.name, err)}
			}
			m.add(1, 0, "")
		}
	}
	m.close()
	doc := turned(c.Against, pair[0], pair[1])
	if c.JSON {
		return a.printJSON(doc)
	}
	a.printTable(doc.table())
	return nil
}

// changed are a command's flags as the user changed them, without those that say
// what is printed: so that a build that lacks a new flag is asked for nothing but
// what it would do anyway.
func (a *app) changed(command string) []string {
	args := []string{command, "--json", "--quiet"}
	for _, f := range visibleFlags(childNamed(a.parser.Model.Node, command)) {
		value := fmt.Sprint(f.Target.Interface())
		switch f.Name {
		case "json", "quiet", "against", "rounds", "help", "version":
		default:
			if value != f.Default && !(f.IsBool() && value == "false") {
				args = append(args, "--"+f.Name+"="+value)
			}
		}
	}
	return args
}

// time runs the build once.
func (b *build) time(a *app, args []string) error {
	if b.apart {
		args = slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return strings.HasPrefix(arg, "--group=") })
	}
	command := exec.CommandContext(a.ctx, b.path, args...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	text, err := command.Output()
	var status *exec.ExitError
	if errors.As(err, &status) && !b.apart && strings.Contains(stderr.String(), "unknown flag --group") {
		b.apart = true
		return b.time(a, args)
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, strings.TrimPrefix(strings.TrimSpace(stderr.String()), "simulate: "))
	}
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		return errors.New("does not print what bench --json does")
	}
	if _, ok := doc["group"]; !ok {
		b.apart = true
	}
	if b.figures == nil {
		b.figures = make([][]float64, len(turnedFigures))
	}
	for i, f := range turnedFigures {
		value := command.ProcessState.UserTime().Seconds() + command.ProcessState.SystemTime().Seconds()
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

// turned puts the figures of two builds side by side.
func turned(against string, here, there *build) inTurns {
	doc := inTurns{Against: against, Rounds: len(here.figures[0])}
	if there.apart && !here.apart {
		doc.Notes = append(doc.Notes, against+" knows no --group: it computes a prompt for every response.")
	}
	for i, f := range turnedFigures {
		x := turnedFigure{Name: f.name, Here: spreadOf(here.figures[i]), There: spreadOf(there.figures[i])}
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

// spreadOf is the spread of a list, which stays as it is.
func spreadOf(list []float64) spread {
	list = slices.Sorted(slices.Values(list))
	n := len(list)
	return spread{list[0], (list[(n-1)/2] + list[n/2]) / 2, list[n-1]}
}

// text shows the spread in a cell.
func (s spread) text(digits int) string {
	number := func(v float64) string { return results.FormatNumber(v, digits) }
	return fmt.Sprintf("%s  (%s - %s)", number(s.Median), number(s.Least), number(s.Most))
}

// table shows the figures to a person.
func (d inTurns) table() *results.Table {
	t := &results.Table{
		Title:   fmt.Sprintf("This build and %s in turns, rounds: %d, medians and ranges", d.Against, d.Rounds),
		Columns: []results.TableColumn{{Name: "figure"}, {Name: "here", Align: results.Right}, {Name: "there", Align: results.Right}, {Name: "ratio", Align: results.Right}},
		Note:    strings.Join(append([]string{"Ratio: of the two within a round, above 1 where this build is the faster or the smaller one."}, d.Notes...), " "),
	}
	for _, f := range d.Figures {
		t.Add(results.Word(f.Name), results.Word(f.Here.text(3)), results.Word(f.There.text(3)), results.Word(f.Ratio.text(3)))
	}
	return t
}
