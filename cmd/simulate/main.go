// Command simulate trains a tiny mixture-of-experts policy by reinforcement
// learning in two engines that deliberately disagree, and measures what that
// does. `simulate --help` lists its commands.
//
// This package is the command line only: it parses, calls, and prints. One
// file per command.
package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"

	_ "driftlab/cmd/simulate/limits" // before any package that opens files
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is the whole program; the result is the exit status: 0 for success, 2
// for bad input, 130 when a signal stopped it, 1 for any other failure.
func run(args []string, stdout, stderr io.Writer) (status int) {
	out := &checkedWriter{Writer: stdout}
	a := &app{stdout: out, stderr: stderr}
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
		err = badInput{fmt.Errorf("standard output: %w", out.err)}
	}
	return a.fail(err)
}

// checkedWriter escapes what it is given, and remembers the first error of
// writing, such as a full disk, so that nothing that was printed in vain passes
// for success. Each Write is of whole characters.
type checkedWriter struct {
	io.Writer
	err error
}

// Write implements io.Writer.
func (w *checkedWriter) Write(p []byte) (int, error) {
	_, err := io.WriteString(w.Writer, escape(string(p)))
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	if w.err == nil {
		w.err = err
	}
	return len(p), err
}

// exit is what the command-line parser panics with to end the program, after
// it has printed help.
type exit int
