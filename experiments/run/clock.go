package run

import (
	"slices"

	"driftlab/results/record"
	"driftlab/trainer"
	"driftlab/trainer/method/schedule"
	"driftlab/trainer/recipe"
)

// clockOf is what the clock of a session says so far; nil without one. Its timeline
// is what the core remembers, up to the begin of the last training: what the workers
// would do meanwhile is not needed.
func clockOf(s *trainer.Session, r recipe.Recipe) *record.Clock {
	c := s.Clock()
	if c == nil {
		return nil
	}
	core, config := c.Core, c.Config()
	clock := &record.Clock{System: r.Schedule.Name, Workers: config.Workers, Slots: config.Slots,
		Lags: core.Counts().Lags, TokenLags: core.Counts().TokenLags, To: core.Now(), Spans: Spans(core.Log(), config.Slots)}
	// Where it was shortened, it is whole from the begin of a training on.
	for _, x := range core.Log() {
		if x.Lane == schedule.Learner && x.Activity == schedule.Training {
			if x.Version > 0 {
				clock.From = x.From
			}
			break
		}
	}
	clock.Spans = slices.DeleteFunc(clock.Spans, func(x record.ClockSpan) bool { return x.From >= clock.To })
	return clock
}

// Spans is a log as a run directory has it, of workers with the given number of slots.
func Spans(log []schedule.Span, slots int) []record.ClockSpan {
	spans := make([]record.ClockSpan, len(log))
	for i, x := range log {
		spans[i] = record.ClockSpan{Lane: x.Lane, Activity: x.Activity.String(), From: x.From, To: x.To, Version: x.Version}
		if x.Activity == schedule.Generating {
			spans[i].Busy = float64(x.Work) / (float64(slots) * float64(x.To-x.From))
		}
	}
	return spans
}

// keepClock writes the clock's file, where there is a clock.
func (r *run) keepClock() error {
	if clock := clockOf(r.session, r.recipe); clock != nil {
		return record.WriteClock(r.file.Dir(), clock)
	}
	return nil
}
