package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"

	"driftlab/experiments/study"
	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/trainer"

	"github.com/charmbracelet/x/ansi"
	"github.com/schollz/progressbar/v3"
)

// printJSON prints one document, indented, and nothing else. Numbers that JSON
// does not have are the texts "nan", "inf" and "-inf", as in metrics.jsonl.
func (a *app) printJSON(v any) error {
	text, err := record.Document(v)
	if err != nil {
		return err
	}
	return a.printText(text)
}

// show prints the document where it is asked for, else the tables that have rows.
func (a *app) show(asJSON bool, document any, tables ...*figure.Figure) error {
	if asJSON {
		return a.printJSON(document)
	}
	for _, t := range tables {
		if len(t.Rows) > 0 {
			a.printTable(t)
		}
	}
	return nil
}

// printText prints a text for programs, which takes no notice of the terminal.
func (a *app) printText(text []byte) error {
	if w, ok := a.stdout.(*checkedWriter); ok {
		w.document(text) // it keeps the error
		return nil
	}
	_, err := a.stdout.Write(text)
	return err
}

// lineEvery is how often progress is printed where there is no terminal.
const lineEvery = 5 * time.Second

// meter shows how far some work has come: a bar on a terminal, a line every
// few seconds elsewhere, nothing with -q. Several runs may share one.
type meter struct {
	w     io.Writer
	label string
	unit  string
	total int
	quiet bool
	bar   *progressbar.ProgressBar
	width func() int // of the terminal that has the bar

	mu      sync.Mutex
	done    int
	skipped int       // of done, what earlier commands had done
	first   time.Time // when the first steps were counted, and how many these were: what came
	before  int       // before, such as opening models, says nothing about the pace
	open    int       // jobs of a queue that have not ended, though all their steps may be done
	printed time.Time
}

// meter returns the progress display of a command.
func (a *app) meter(quiet bool, label, unit string, total int) *meter {
	m := &meter{w: a.stderr, label: oneLine(label), unit: unit, total: total, quiet: quiet, printed: time.Now()}
	if width := func() int { return terminalWidth(a.stderr) }; !quiet && width() > 0 {
		m.draw(unchecked(a.stderr), 100*time.Millisecond, width)
	}
	return m
}

const barWidth = 20

// draw makes the meter a bar on a terminal of that width, drawn again so often at most.
func (m *meter) draw(w io.Writer, every time.Duration, width func() int) {
	m.width = width
	m.bar = progressbar.NewOptions(m.total, progressbar.OptionSetWriter(w), progressbar.OptionSetWidth(barWidth), progressbar.OptionSetDescription(m.described("")),
		progressbar.OptionShowCount(), progressbar.OptionThrottle(every), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetPredictTime(false)) // pace does, once it is worth something
}

// described is the text before the bar, as much as fits in the line with it: a line that is longer than the terminal would be
// repeated at every refresh.
func (m *meter) described(text string) string {
	around := ansi.StringWidth(fmt.Sprintf(" 100%% || (%d/%d) ", m.total, m.total)) + barWidth
	return ansi.Truncate(strings.TrimSpace(m.label+"  "+text), max(m.width()-around, 0), "…")
}

// run returns what to call after every step of one run. The first step of a
// run that is resumed does not count towards the rate what was there.
func (m *meter) run() func(trainer.Progress) {
	last := 0
	return func(p trainer.Progress) {
		skipped := 0
		if last == 0 {
			skipped = p.Step - 1
		}
		m.add(p.Step-last, skipped, progressNote(p))
		last = p.Step
	}
}

// queue returns what to call as a queue of jobs advances. What had been done
// before does not count towards the rate.
func (m *meter) queue() func(study.Progress) {
	kept := 0
	return func(p study.Progress) {
		m.mu.Lock()
		m.total = p.Total
		if m.bar != nil {
			m.bar.ChangeMax(p.Total)
		}
		m.open = p.Tasks - p.Ended
		done := m.done
		m.mu.Unlock()
		note := p.Latest
		if p.Tasks != p.Total {
			note = fmt.Sprintf("run %d/%d  %s", min(p.Ended+1, p.Tasks), p.Tasks, note)
		}
		if p.Note != "" {
			note += "  " + p.Note
		}
		m.add(p.Done-done, p.Kept-kept, note)
		kept = p.Kept
	}
}

// add counts steps, of which some had been done before.
func (m *meter) add(steps, skipped int, note string) {
	note = oneLine(note)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done += steps
	m.skipped += skipped
	now := time.Now()
	if m.first.IsZero() && m.done > m.skipped {
		m.first, m.before = now, m.done-m.skipped
	}
	switch {
	case m.quiet:
	case m.bar != nil:
		m.bar.Describe(m.described(strings.TrimPrefix(strings.ReplaceAll(m.pace(now)+", ", ", ", "  "), "  ") + note))
		// A bar that cannot be drawn is no reason to stop the work.
		_ = m.bar.Set(m.done)
	case m.done >= m.total && m.open == 0, now.Sub(m.printed) >= lineEvery:
		m.printed = now
		fmt.Fprintln(m.w, m.line(now, note))
	}
}

func (m *meter) line(now time.Time, note string) string {
	text := fmt.Sprintf("%s: %s %d/%d", m.label, m.unit, m.done, m.total)
	if note != "" {
		text += ", " + strings.ReplaceAll(note, "  ", ", ")
	}
	return text + m.pace(now)
}

// How much must be done before what is left is estimated: some steps over a while, or a
// share of all. After the first steps, a job of minutes was estimated at a day.
const (
	paceSteps = 3
	paceTime  = 10 * time.Second
	paceShare = 0.02
)

// pace is the rate, and the time that is left as soon as it can be estimated; empty before.
func (m *meter) pace(now time.Time) string {
	made, left := m.done-m.skipped-m.before, m.total-m.done
	since := now.Sub(m.first)
	worth := made >= paceSteps && since >= paceTime || float64(made) >= paceShare*float64(m.total-m.skipped)
	if m.first.IsZero() || made <= 0 || since <= 0 || !worth {
		return ""
	}
	rate := float64(made) / since.Seconds()
	text := fmt.Sprintf(", %s %ss/s", figure.FormatNumber(rate, 2), m.unit)
	if left > 0 {
		text += ", about " + roughly(time.Duration(float64(left)/rate*float64(time.Second))) + " left"
	}
	return text
}

// roughly is a duration in the precision of an estimate.
func roughly(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	return fmt.Sprintf("%.1f h", d.Hours())
}

func (m *meter) close() {
	if m.bar != nil {
		_ = m.bar.Clear()
	}
}

// progressNote is what a run shows of its last step.
func progressNote(p trainer.Progress) string {
	if p.Loss != 0 {
		return "loss " + figure.FormatNumber(p.Loss, 3)
	}
	kl := figure.FormatNumber(p.KL, 2)
	if math.IsNaN(p.KL) {
		kl = "-"
	}
	return fmt.Sprintf("reward %.2f  KL %s  length %.1f", p.Reward, kl, p.Length)
}
