package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"

	"driftlab/results"
	"driftlab/trainer"

	"github.com/schollz/progressbar/v3"
)

// lineEvery is how often progress is printed where there is no terminal.
const lineEvery = 5 * time.Second

// meter shows how far some work has come: a bar on a terminal, a line every
// few seconds elsewhere, nothing with -q. Several runs may share one.
type meter struct {
	mu    sync.Mutex
	w     io.Writer
	label string
	unit  string
	total int

	bar     *progressbar.ProgressBar
	start   time.Time
	started int // steps that were done before, by an earlier command
	printed time.Time
	done    int
	off     bool
}

// meter returns the progress display of a command.
func (a *app) meter(c *common, label, unit string, total int) *meter {
	m := &meter{w: a.stderr, label: label, unit: unit, total: total, off: c.Quiet, started: -1}
	if !c.Quiet && terminalWidth(a.stderr) > 0 {
		m.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(a.stderr), progressbar.OptionSetDescription(label),
			progressbar.OptionSetWidth(20), progressbar.OptionShowCount(), progressbar.OptionShowIts(),
			progressbar.OptionSetItsString(unit), progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(true))
	}
	return m
}

// add counts steps of one of several runs.
func (m *meter) add(steps int, note string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.show(max(m.done, 0)+steps, steps, note)
}

// set says that so many steps are done.
func (m *meter) set(done int, note string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.show(done, done-m.done, note)
}

// show displays the state; the first call tells how much was done before.
func (m *meter) show(done, steps int, note string) {
	now := time.Now()
	if m.started < 0 {
		m.start, m.printed, m.started = now, now, done
	}
	m.done = done
	switch {
	case m.off:
	case m.bar != nil:
		m.bar.Describe(strings.TrimSpace(m.label + "  " + note))
		// A bar that cannot be drawn is no reason to stop the work.
		_ = m.bar.Set(done)
	case done >= m.total || now.Sub(m.printed) >= lineEvery:
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
	if made := m.done - m.started; made > 0 && elapsed > 0 {
		rate := float64(made) / elapsed
		text += fmt.Sprintf(", %s %ss/s", results.FormatNumber(rate, 2), m.unit)
		if left := m.total - m.done; left > 0 {
			text += fmt.Sprintf(", %s left", time.Duration(float64(left)/rate*1e9).Round(time.Second))
		}
	}
	return text
}

// close takes the bar away.
func (m *meter) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
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
