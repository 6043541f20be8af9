package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"driftlab/model"
	"driftlab/results/record"
	"driftlab/trainer/recipe"

	"github.com/alecthomas/kong"
)

// The exit statuses.
const (
	statusOK          = 0
	statusFailure     = 1
	statusBadInput    = 2
	statusStrict      = 3   // a verdict that was asked to be one
	statusInterrupted = 130 // 128 + SIGINT, as shells report it
)

// badInput marks an error as the caller's to correct.
type badInput struct{ error }

// Unwrap returns the cause.
func (b badInput) Unwrap() error { return b.error }

// bad is an error about the input.
func bad(format string, args ...any) error { return badInput{fmt.Errorf(format, args...)} }

// interrupted says that a signal stopped the work, and how to go on.
type interrupted struct{ resume string }

// Error is one line.
func (i interrupted) Error() string { return "stopped; " + i.resume }

// internalError is a panic as an error.
func internalError(p any) error {
	return fmt.Errorf("internal error, please report it with the command (SIMULATE_TRACE=1 shows where): %v", p)
}

// fail prints an error, a line for each fault, and returns the exit status.
func (a *app) fail(err error) int {
	if err == nil {
		return statusOK
	}
	if errors.Is(err, context.Canceled) && !errors.As(err, new(interrupted)) {
		err = interrupted{"nothing was kept; run the same command again"}
	}
	for _, line := range errorLines(err) {
		fmt.Fprintf(a.stderr, "simulate: %s\n", line)
	}
	return statusOf(err)
}

// errorLines are the faults in an error, a line each. Whatever else is in two
// lines repeats what somebody wrote, and is put into one.
func errorLines(err error) []string {
	var lines []string
	switch e := err.(type) {
	case badInput:
		return errorLines(e.error)
	case recipe.Faults:
		for _, fault := range e {
			lines = append(lines, oneLine(fault.Error()))
		}
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			lines = append(lines, errorLines(part)...)
		}
	default:
		lines = []string{oneLine(err.Error())}
	}
	return lines
}

// statusOf classifies an error.
func statusOf(err error) int {
	var (
		stop    interrupted
		verdict strict
		mine    badInput
		faults  recipe.Faults
		folder  *record.FolderError
		weights *model.CheckpointError
		parse   *kong.ParseError
		path    *fs.PathError
	)
	switch {
	case errors.As(err, &stop):
		return statusInterrupted
	case errors.As(err, &verdict):
		return statusStrict
	case errors.As(err, &mine), errors.As(err, &faults), errors.As(err, &folder), errors.As(err, &weights), errors.As(err, &parse), errors.As(err, &path):
		return statusBadInput
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist):
		return statusBadInput
	}
	return statusFailure
}
