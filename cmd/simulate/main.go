// Command simulate trains a tiny mixture-of-experts policy by reinforcement
// learning in two engines that deliberately disagree, and measures what that
// does. `simulate --help` lists its commands.
//
// This package is the command line only: it parses, calls, and prints. One
// file per command.
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	_ "driftlab/cmd/simulate/limits" // before any package that opens files
	"driftlab/results/record/atomicfile"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is the whole program; the result is the exit status: 0 for success, 2
// for bad input, 130 when a signal stopped it, 1 for any other failure.
func run(args []string, stdout, stderr io.Writer) (status int) {
	out := &checkedWriter{Writer: stdout}
	a := &app{stdout: out, stderr: &checkedWriter{Writer: stderr}}
	defer a.watch()()
	defer func() {
		if p := recover(); p != nil {
			if e, ok := p.(exit); ok {
				status = int(e)
				return
			}
			if os.Getenv("SIMULATE_TRACE") != "" {
				stderr.Write(debug.Stack())
			}
			status = a.fail(internalError(p))
		}
	}()
	err := a.dispatch(args)
	if err == nil && out.err != nil {
		err = bad("standard output: %w", out.err)
	}
	return a.fail(err)
}

// checkedWriter escapes its input, writes commands as the program was started, breaks lines that are longer than the
// terminal between words, and remembers the first error of writing, such as a full disk, so that nothing that was printed in
// vain passes for success. Each Write is of whole lines or words.
type checkedWriter struct {
	io.Writer
	err error
}

func (w *checkedWriter) Write(p []byte) (int, error) {
	return w.put(p, narrow(typable(escape(string(p)), programName()), tableWidth(w.Writer)))
}

// document writes a document for programs: it is escaped and otherwise as it is.
func (w *checkedWriter) document(p []byte) { _, _ = w.put(p, escape(string(p))) }

func (w *checkedWriter) put(p []byte, text string) (int, error) {
	_, err := io.WriteString(w.Writer, text)
	w.err = cmp.Or(w.err, atomicfile.Cause(err))
	return len(p), err
}

// exit is what the command-line parser panics with to end the program, after
// it has printed help.
type exit int

// signals decides what the first Ctrl-C or SIGTERM does. Training ends in order:
// at the next step, with a snapshot. A step, or whatever else, that takes longer than
// orderlyEnd is given up, and made again from the snapshot before it: a run that was killed at
// any moment resumes to the same bytes. Everything else ends at once: what is read,
// measured or drawn is read, measured or drawn again, and files appear whole or
// not at all.
type signals struct {
	mu      sync.Mutex
	orderly bool
	stopped bool
	cancel  context.CancelFunc
	// exit says that the program was stopped, and ends it.
	exit func()
	// wait says that an orderly end takes a while, giveUp that it takes too long, and
	// ends the program.
	wait, giveUp func()
	// after calls a function later.
	after func(time.Duration, func())
}

const (
	// patience is how long an orderly end may take before a word is said about it.
	patience = time.Second
	// orderlyEnd is how long it may take at all.
	orderlyEnd = 3 * time.Second
)

// watch makes the context of an app that the first signal cancels. The second
// one ends the program as it ends any other.
func (a *app) watch() (unwatch func()) {
	a.ctx, a.signals.cancel = context.WithCancel(context.Background())
	leave := func(how string) {
		if terminalWidth(a.stderr) > 0 {
			fmt.Fprintln(a.stderr) // below a progress bar
		}
		os.Exit(a.fail(interrupted{how}))
	}
	a.signals.exit = func() { leave("run the same command again") }
	a.signals.giveUp = func() {
		leave("running work was given up; run the same command again to resume from what was saved")
	}
	a.signals.wait = func() {
		fmt.Fprintf(a.stderr, "simulate: stopping; running work has %v to finish; a second signal stops at once\n", orderlyEnd-patience)
	}
	a.signals.after = func(d time.Duration, f func()) { time.AfterFunc(d, f) }
	signalled, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ignore := context.AfterFunc(signalled, func() {
		release()
		a.signals.stop()
	})
	return func() {
		ignore()
		release()
		a.signals.cancel()
	}
}

// stop is what a signal does.
func (s *signals) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	if !s.orderly {
		s.exit()
		return
	}
	s.cancel()
	s.after(patience, func() { s.unlessEnded(s.wait) })
	s.after(orderlyEnd, func() { s.unlessEnded(s.giveUp) })
}

// unlessEnded calls a function while the work that was stopped still goes on.
func (s *signals) unlessEnded(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.orderly {
		f()
	}
}

// begin starts work that returns soon after its context is cancelled, with
// everything in order. The function it returns ends it; its error is that of
// the context if a signal came, also one that came too late for the work.
func (s *signals) begin() (end func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.orderly = true
	return func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.orderly = false
		if s.stopped {
			return context.Canceled
		}
		return nil
	}
}
