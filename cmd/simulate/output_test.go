package main

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"driftlab/experiments/study"
	"driftlab/precision/must"
	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/trainer"

	"github.com/charmbracelet/x/ansi"
)

// TestJSON holds the documents against encoding/json, and prints what that
// cannot: numbers that are not finite.
func TestJSON(t *testing.T) {
	type inner struct {
		X float64 `json:"x"`
	}
	type embedded struct {
		Name string `json:"name"`
	}
	type document struct {
		embedded
		List  []inner         `json:"list"`
		Empty []int           `json:"empty"`
		None  *inner          `json:"none,omitempty"`
		Some  *inner          `json:"some"`
		Map   map[string]int  `json:"map"`
		Raw   json.RawMessage `json:"raw"`
		Off   int             `json:"-"`
		Plain bool
		skip  int
	}
	doc := document{embedded{"a\"<b>"}, []inner{{1e-9}, {0.1}}, []int{}, nil, &inner{3}, map[string]int{"b": 1, "a": 2}, json.RawMessage(`{"z":[1,2]}`), 3, true, 4}
	want := must.Get(json.MarshalIndent(doc, "", "  "))(t)
	got, err := record.Document(doc)
	if err != nil || strings.TrimSpace(string(got)) != string(want) {
		t.Errorf("%v: got\n%s\nwant\n%s", err, got, want)
	}
	got, err = record.Document([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 2})
	if err != nil || strings.Join(strings.Fields(string(got)), "") != `["nan","inf","-inf",2]` {
		t.Errorf("%v: %s", err, got)
	}
}

// TestTable checks the plain form: aligned, without colours or trailing blanks.
func TestTable(t *testing.T) {
	table := &figure.Figure{
		Kind:    figure.Table,
		Title:   "Title",
		Columns: []figure.Column{{Name: "name"}, {Name: "value", Unit: "nats", Align: figure.Right}, {Name: "verdict"}},
		Note:    "one\ntwo",
	}
	table.Add(figure.Word("a long name").As(figure.Strong), figure.Number(0.5, 2), figure.Word("held").As(figure.Good))
	table.Add(figure.Word("b"), figure.Number(12, 2))
	var out bytes.Buffer
	(&app{stdout: &out}).printTable(table)
	want := `Title
name         value (nats)  verdict
──────────────────────────────────
a long name          0.50  held
b                      12
one
two

`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

// TestNarrowTable: a table takes the width that COLUMNS says, and no number is
// ever broken.
func TestNarrowTable(t *testing.T) {
	table := &figure.Figure{Kind: figure.Table, Columns: []figure.Column{{Name: "name of the run"}, {Name: "verdict"}, {Name: "peak, by seed", Align: figure.Right}}}
	table.Add(figure.Word("fp4 rollouts, uncorrected"), figure.Word("collapsed 2 of 3"), figure.Word("0.894 0.887 0.841"))
	table.Add(figure.Word("4 updates old"), figure.Word("held 3 of 3"), figure.Word("0.681 0.693 0.604"))
	for _, columns := range []string{"200", "62", "40", "30", "20", "0", "many"} {
		t.Setenv("COLUMNS", columns)
		var out bytes.Buffer
		(&app{stdout: &out}).printTable(table)
		width, err := strconv.Atoi(columns)
		for line := range strings.SplitSeq(out.String(), "\n") {
			if n := utf8.RuneCountInString(line); err == nil && width >= 30 && n > width {
				t.Errorf("COLUMNS=%s: %d wide: %q", columns, n, line)
			}
		}
		for _, word := range strings.Fields("fp4 rollouts, uncorrected collapsed 0.894 0.887 0.841 0.681 0.693 0.604 verdict") {
			if !slices.Contains(strings.Fields(out.String()), word) {
				t.Errorf("COLUMNS=%s: %q is broken in\n%s", columns, word, out.String())
			}
		}
	}
}

// TestMeterBarFitsTerminal: at any width the bar and its text are one line, which a refresh replaces, and the bar keeps its width.
func TestMeterBarFitsTerminal(t *testing.T) {
	for _, columns := range []int{50, 60, 80, 120} {
		var out bytes.Buffer
		m := &meter{label: "headline", unit: "step"}
		m.draw(&out, 0, func() int { return columns })
		jobs := m.queue()
		for done := range 5 {
			m.mu.Lock()
			m.first = time.Now().Add(-time.Minute)
			m.mu.Unlock()
			jobs(study.Progress{Done: 100 * done, Total: 3600, Ended: done, Tasks: 30, Latest: "lag16-opsm-with-a-long-name seed 3  reward 0.55  KL 1.0e-5  length 20.0"})
		}
		if strings.Contains(out.String(), "\n") {
			t.Errorf("%d columns: a line per refresh:\n%q", columns, out.String())
		}
		bars := 0
		for line := range strings.SplitSeq(out.String(), "\r") {
			if n := ansi.StringWidth(line); n > columns {
				t.Errorf("%d columns: %d wide: %q", columns, n, line)
			}
			if i := strings.Index(line, "|"); i >= 0 {
				if bars++; strings.LastIndex(line, "|")-i <= barWidth {
					t.Errorf("%d columns: no bar in %q", columns, line)
				}
			}
		}
		if bars == 0 {
			t.Errorf("%d columns: no bar in %q", columns, out.String())
		}
	}
}

// TestWrapWholeWords: lines break between words alone, at any width from 60 on, and what is copied stays whole.
func TestWrapWholeWords(t *testing.T) {
	const prose = "  note: the loss-aggregation token-mean weighs responses by their length, so that a batch-invariant engine with micro-batches of unequal lengths trains with other weights than one without"
	const command = "Next: simulate sweep quick --only method=none+token_tis-2+sapo,stressor=matched+age16+router4 --out runs/a-long-name-of-a-folder"
	for width := 60; width <= 120; width += 5 {
		text := narrow(prose+"\n"+command, width)
		if got := strings.Join(strings.Fields(text), " "); got != strings.Join(strings.Fields(prose+" "+command), " ") {
			t.Errorf("width %d: words are broken:\n%s", width, text)
		}
		lines := strings.Split(text, "\n")
		if last := lines[len(lines)-1]; last != command {
			t.Errorf("width %d: the command is broken: %q", width, last)
		}
		for _, line := range lines[:len(lines)-1] {
			if len(line) > width || !strings.HasPrefix(line, "  ") {
				t.Errorf("width %d: %q", width, line)
			}
		}
	}
}

// TestMeter checks what is printed where there is no terminal.
func TestMeter(t *testing.T) {
	var out bytes.Buffer
	a := &app{stderr: &out}
	m := a.meter(false, "run", "step", 100)
	step := m.run()
	step(trainer.Progress{Step: 41, Steps: 100, Reward: 0.5, KL: 1e-5, Length: 8}) // taken up after 40
	if out.Len() > 0 {
		t.Errorf("printed at once: %q", out.String())
	}
	// Neither the first step nor too few after it tell how long the rest takes.
	for _, c := range []struct {
		step  int
		after time.Duration
		want  string
	}{
		{41, 2 * time.Second, "run: step 41/100, reward 0.50, KL 1.0e-5"},
		{42, 2 * time.Second, "run: step 42/100, reward 0.50, KL 1.0e-5"},
		{43, 4 * time.Second, "run: step 43/100, reward 0.50, KL 1.0e-5, 0.50 steps/s, about 114 s left"},
	} {
		step(trainer.Progress{Step: c.step, Steps: 100, Reward: 0.5, KL: 1e-5, Length: 8})
		if line := m.line(m.first.Add(c.after), "reward 0.50  KL 1.0e-5"); line != c.want {
			t.Errorf("%q, want %q", line, c.want)
		}
	}
	for d, want := range map[time.Duration]string{40 * time.Second: "40 s", 150 * time.Second: "2 min", 33 * time.Hour: "33.0 h"} {
		if got := roughly(d); got != want {
			t.Errorf("%v is roughly %s, want %s", d, got, want)
		}
	}
	step(trainer.Progress{Step: 100, Steps: 100, Loss: 1.25})
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.HasPrefix(got, "run: step 100/100, loss 1.25, ") || strings.Contains(got, "left") {
		t.Errorf("at the end: %q", got)
	}

	// The last line of a queue is about its last job, not the last step.
	out.Reset()
	jobs := a.meter(false, "sweep", "step", 0).queue()
	jobs(study.Progress{Done: 8, Total: 8, Ended: 1, Tasks: 2, Latest: "second"})
	if out.Len() > 0 {
		t.Errorf("before the last job has ended: %q", out.String())
	}
	jobs(study.Progress{Done: 8, Total: 8, Ended: 2, Tasks: 2, Latest: "second"})
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.HasPrefix(got, "sweep: step 8/8, run 2/2, second") {
		t.Errorf("at the end of a queue: %q", got)
	}

	out.Reset()
	quiet := a.meter(true, "run", "step", 1)
	quiet.run()(trainer.Progress{Step: 1, Steps: 1})
	quiet.close()
	if out.Len() > 0 {
		t.Errorf("-q printed %q", out.String())
	}
}
