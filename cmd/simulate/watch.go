package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"driftlab/experiments/diagnose"
	"driftlab/experiments/diagnose/reader"
	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/results/stability"
)

type watchCmd struct {
	Dir   string        `arg:"" complete:"dirs" help:"The folder that a run writes: its metrics.jsonl, dumps of its batches, or both, at any depth."`
	Every time.Duration `help:"Time between two looks at the folder." default:"2s" placeholder:"TIME"`
	Once  bool          `overrides:"--every" help:"Read what is there, and end."`
}

// Run follows the folder until the run has ended or a signal comes.
func (c *watchCmd) Run(a *app) error {
	if c.Every <= 0 {
		return bad("--every %v: give a time above zero, such as 2s", c.Every)
	}
	if info, err := os.Stat(c.Dir); err != nil || !info.IsDir() {
		return bad("%s: no such folder: start the run first, and give the folder that it writes", c.Dir)
	}
	w := &watcher{app: a, rates: stability.PublishedAlarms(), files: map[string]*watched{}}
	end := a.signals.begin()
	defer end()
	for a.ctx.Err() == nil {
		ended, err := w.look(c.Dir, c.Once)
		if err != nil {
			return err
		}
		if ended || c.Once {
			break
		}
		select {
		case <-a.ctx.Done():
		case <-time.After(c.Every):
		}
	}
	if !w.found {
		return cmp.Or(sweepFolder(c.Dir), bad("%s: neither %s nor a dump in this folder", c.Dir, record.MetricsFile))
	}
	w.conclude(c.Dir)
	return nil
}

// watcher is what was read of a folder, and what came of it.
type watcher struct {
	*app
	rates          *stability.Alarms
	files          map[string]*watched
	found          bool // metrics, or a row of a dump
	updates, dumps int
	alarms         int
	first          string // where the first alarm was
}

// watched is a file of the folder.
type watched struct {
	read  int64 // of its bytes
	size  int64 // when it was last looked at
	run   *diagnose.Monitor
	rings map[string]bool // rules that the dump before fired, by name
}

// look reads what was appended since the last look. It reports whether all runs of the folder have ended. Files that are written as a
// whole are read when they no longer grow, or at once.
func (w *watcher) look(dir string, once bool) (ended bool, err error) {
	isMetrics := func(path string) bool { return filepath.Base(path) == record.MetricsFile }
	list, err := filesBelow(dir, func(path string) bool { return isMetrics(path) || mayBeDump(path) })
	if err != nil {
		return false, err
	}
	runs, finished := 0, 0
	for _, path := range list {
		f := w.files[path]
		if f == nil {
			f = &watched{run: diagnose.NewMonitor(w.rates)}
			w.files[path] = f
		}
		_, unfinished := os.Stat(filepath.Join(filepath.Dir(path), record.SummaryFile)) // written after all that is read here
		if err := w.appended(path, f, isMetrics(path), once); err != nil {
			fmt.Fprintf(w.stderr, "simulate: note: %s: %s\n", path, oneLine(err.Error()))
		}
		if isMetrics(path) {
			w.found = true
			runs++
			if unfinished == nil {
				finished++
				w.tell(path, "update", f.run.Close)
			}
		}
	}
	return runs > 0 && finished == runs, nil
}

// mostAtOnce is how much of a file is held: no line is longer.
const mostAtOnce = 64 << 20

// appended reads a file from where it was read to: complete lines, or the whole.
func (w *watcher) appended(path string, f *watched, metrics, once bool) error {
	file, err := os.Open(path)
	if err != nil {
		return errors.Unwrap(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return errors.Unwrap(err)
	}
	size, grows := info.Size(), info.Size() != f.size
	f.size = size
	if size < f.read { // it was begun anew
		*f = watched{size: size, run: diagnose.NewMonitor(w.rates)}
	}
	if ext := filepath.Ext(path); ext != ".jsonl" && ext != ".ndjson" {
		if f.read > 0 || grows && !once {
			return nil
		}
		f.read = size
		return w.dump(path, f, file, size)
	}
	for f.read < size {
		block := make([]byte, min(size-f.read, mostAtOnce))
		if _, err := file.ReadAt(block, f.read); err != nil {
			return err
		}
		end := bytes.LastIndexByte(block, '\n') + 1
		if end == 0 && len(block) == mostAtOnce {
			return fmt.Errorf("a line of more than %d MB at byte %d", mostAtOnce>>20, f.read)
		} else if end == 0 {
			return nil
		}
		f.read += int64(end)
		if metrics {
			err = w.metrics(path, f, block[:end])
		} else {
			err = w.dump(path, f, bytes.NewReader(block[:end]), int64(end))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// metrics reads lines of metrics: an object with the step and numbers, which verl has under data. The error is of the first line that is none.
func (w *watcher) metrics(path string, f *watched, lines []byte) (fault error) {
	for line := range bytes.Lines(lines) {
		var all, nested map[string]json.RawMessage
		if json.Unmarshal(line, &all) != nil {
			fault = cmp.Or(fault, fmt.Errorf("not a line of metrics: %.40q", line))
			continue
		}
		if json.Unmarshal(all["data"], &nested) == nil {
			maps.Copy(all, nested)
		}
		numbers := map[string]float64{}
		for name, text := range all {
			var x float64
			if json.Unmarshal(text, &x) == nil {
				numbers[name] = x
			}
		}
		w.updates = max(w.updates, int(numbers["step"]))
		w.tell(path, "update", func() (int, []diagnose.Alarm) { return f.run.Add(int(numbers["step"]), numbers) })
	}
	return fault
}

// dump diagnoses a dump, or the rows that were appended to it.
func (w *watcher) dump(path string, f *watched, at io.ReaderAt, size int64) error {
	analysis := diagnose.New(diagnose.Options{Rates: w.rates})
	if err := analysis.Read(reader.Input{Name: path, At: at, Size: size}); err != nil {
		return err
	}
	r, rings := analysis.Report(), map[string]bool{}
	if r.NoRow() != "" {
		return nil
	}
	w.found = true
	w.dumps++
	w.tell(path, "dump", func() (last int, fired []diagnose.Alarm) {
		for _, alarm := range r.Alarms {
			if rings[alarm.Rule] = alarm.Fired; alarm.Fired && !f.rings[alarm.Rule] && alarm.Rates != nil {
				fired = append(fired, alarm)
			}
		}
		return w.dumps, fired
	})
	f.rings = rings
	return nil
}

// tell prints the alarms that began to fire, with their published rates.
func (w *watcher) tell(path, unit string, began func() (int, []diagnose.Alarm)) {
	at, fired := began()
	for _, alarm := range fired {
		w.alarms++
		w.first = cmp.Or(w.first, fmt.Sprintf("%s %d", unit, at))
		fmt.Fprintf(w.stdout, "%s %d: %s (now %s, %s; %s). Simulated runs: it fired before %s of the collapses; false alarms: %s in 1,000 updates of runs that did not collapse, in %s of these runs.\n", unit, at, alarm.Rule,
			figure.FormatNumber(alarm.Value, 3), alarm.Source, path, figure.Percent(*alarm.Detection, 0).Text, figure.FormatNumber(alarm.Rates.FalseAlarms, 2), figure.Percent(alarm.Rates.FlaggedRuns, 0).Text)
	}
}

// conclude says what was seen, and what to do next.
func (w *watcher) conclude(dir string) {
	seen, next := figure.Count(w.updates, "update"), "simulate report "
	if w.dumps > 0 {
		seen, next = strings.TrimPrefix(seen+" and "+figure.Count(w.dumps, "part")+" of dumps", "0 updates and "), "simulate diagnose "
	}
	finding := "no alarm"
	if w.alarms > 0 {
		finding = figure.Count(w.alarms, "alarm") + ", the first at " + w.first
	}
	fmt.Fprintf(w.stdout, "Finding: %s in %s.\nNext: %s%s\n", finding, seen, next, record.ShellWord(dir))
}
