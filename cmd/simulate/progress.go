package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"

	"driftlab/experiments/queue"
	"driftlab/results"
	"driftlab/trainer"

	"github.com/schollz/progressbar/v3"
)

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
	start time.Time

	mu      sync.Mutex
	done    int
	skipped int // of done, what earlier commands had done
	open    int // jobs of a queue that have not ended, though all their steps may be done
	printed time.Time
}

// meter returns the progress display of a command.
func (a *app) meter(quiet bool, label, unit string, total int) *meter {
	now := time.Now()
	label = oneLine(label)
	m := &meter{w: a.stderr, label: label, unit: unit, total: total, quiet: quiet, start: now, printed: now}
	if !quiet && terminalWidth(a.stderr) > 0 {
		m.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(a.stderr), progressbar.OptionSetDescription(label),
			progressbar.OptionSetWidth(20), progressbar.OptionShowCount(), progressbar.OptionShowIts(),
			progressbar.OptionSetItsString(unit), progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(true))
	}
	return m
}

// run returns what to call after every step of one run. The first step of a
// run that is taken up again does not count towards the rate what was there.
func (m *meter) run(label string) func(trainer.Progress) {
	last := 0
	return func(p trainer.Progress) {
		skipped := 0
		if last == 0 {
			skipped = p.Step - 1
		}
		m.add(p.Step-last, skipped, label+progressNote(p))
		last = p.Step
	}
}

// queue returns what to call as a queue of jobs advances. What had been done
// before does not count towards the rate.
func (m *meter) queue() func(queue.Progress) {
	kept := 0
	return func(p queue.Progress) {
		m.mu.Lock()
		m.total = p.Total
		if m.bar != nil {
			m.bar.ChangeMax(p.Total)
		}
		m.open = p.Jobs - p.Ended
		done := m.done
		m.mu.Unlock()
		note := p.Latest
		if p.Jobs != p.Total {
			note = fmt.Sprintf("run %d/%d  %s", min(p.Ended+1, p.Jobs), p.Jobs, note)
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
	switch {
	case m.quiet:
	case m.bar != nil:
		m.bar.Describe(strings.TrimSpace(m.label + "  " + note))
		// A bar that cannot be drawn is no reason to stop the work.
		_ = m.bar.Set(m.done)
	case m.done >= m.total && m.open == 0, now.Sub(m.printed) >= lineEvery:
		m.printed = now
		fmt.Fprintln(m.w, m.line(now, note))
	}
}

// line is the state as text.
func (m *meter) line(now time.Time, note string) string {
	text := fmt.Sprintf("%s: %s %d/%d", m.label, m.unit, m.done, m.total)
	if note != "" {
		text += ", " + strings.ReplaceAll(note, "  ", ", ")
	}
	elapsed := now.Sub(m.start).Seconds()
	if made := m.done - m.skipped; made > 0 && elapsed > 0 {
		rate := float64(made) / elapsed
		text += fmt.Sprintf(", %s %ss/s", results.FormatNumber(rate, 2), m.unit)
		if left := m.total - m.done; left > 0 {
			text += fmt.Sprintf(", %s left", time.Duration(float64(left)/rate*float64(time.Second)).Round(time.Second))
		}
	}
	return text
}

// close takes the bar away.
func (m *meter) close() {
	if m.bar != nil {
		_ = m.bar.Clear()
	}
}

// progressNote is what a run shows of its last step.
func progressNote(p trainer.Progress) string {
	if p.Loss != 0 {
		return "loss " + results.FormatNumber(p.Loss, 3)
	}
	kl := results.FormatNumber(p.KL, 2)
	if math.IsNaN(p.KL) {
		kl = "-"
	}
	return fmt.Sprintf("reward %.2f  KL %s  length %.1f", p.Reward, kl, p.Length)
}
