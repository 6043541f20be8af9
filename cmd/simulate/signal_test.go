package main

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestSignals: a signal ends the program at once, except while something is
// trained; and none is lost in between.
func TestSignals(t *testing.T) {
	var later []func()
	fresh := func() (s *signals, ctx context.Context, exits *int) {
		exits, later = new(int), nil
		s = &signals{exit: func() { *exits++ }, wait: func() {}, giveUp: func() { *exits += 10 },
			after: func(_ time.Duration, f func()) { later = append(later, f) }}
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
	for _, f := range later {
		f()
	}
	if *exits != 0 {
		t.Errorf("work that ended in order was given up")
	}

	s, _, exits = fresh()
	s.begin()
	s.stop()
	for _, f := range later {
		f()
	}
	if *exits != 10 {
		t.Errorf("work that does not end is not given up: %d", *exits)
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
