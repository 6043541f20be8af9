package main

import (
	"context"
	"errors"
	"testing"
)

// TestSignals: a signal ends the program at once, except while something is
// trained; and none is lost in between.
func TestSignals(t *testing.T) {
	fresh := func() (s *signals, ctx context.Context, exits *int) {
		exits = new(int)
		s = &signals{exit: func() { *exits++ }, wait: func() {}}
		ctx, s.cancel = context.WithCancel(context.Background())
		return s, ctx, exits
	}

	s, ctx, exits := fresh()
	if s.stop(); *exits != 1 || ctx.Err() != nil {
		t.Errorf("before any work: %d exits, context %v", *exits, ctx.Err())
	}

	s, ctx, exits = fresh()
	end := s.begin()
	s.stop()
	if *exits != 0 || ctx.Err() == nil {
		t.Errorf("during work: %d exits, context %v", *exits, ctx.Err())
	}
	if err := end(); !errors.Is(err, context.Canceled) {
		t.Errorf("work that was done when the signal came went on: %v", err)
	}

	s, _, exits = fresh()
	end = s.begin()
	if err := end(); err != nil {
		t.Errorf("work without a signal: %v", err)
	}
	if s.stop(); *exits != 1 {
		t.Error("the report is drawn on, after a signal")
	}
}
