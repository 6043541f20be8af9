package record

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// Clock is what the virtual clock of an asynchronous schedule leaves: counts over
// the whole run, and its last stretch as a timeline, so that the file of a long run
// is no longer than a short one's. It holds nothing that depends on the machine.
type Clock struct {
	// System is the schedule, Workers the number of rollout engines, Slots the
	// requests that each serves at once.
	System  string `json:"system"`
	Workers int    `json:"workers"`
	Slots   int    `json:"slots"`
	// Lags counts the trained samples by how many published versions their oldest
	// token is behind, TokenLags the trained tokens.
	Lags      []int `json:"sample_lags"`
	TokenLags []int `json:"token_lags"`
	// Spans are who did what from From to To, in ticks.
	From  int         `json:"from"`
	To    int         `json:"to"`
	Spans []ClockSpan `json:"timeline"`
}

// ClockSpan is a stretch of the timeline. What is in none was waiting.
type ClockSpan struct {
	// Lane is the worker, -1 for the learner.
	Lane int `json:"lane"`
	// Activity is generating, prefilling, loading, scoring, training, pushing or calling.
	Activity string `json:"does"`
	From     int    `json:"from"`
	To       int    `json:"to"`
	// Version is that of the weights, as published.
	Version int `json:"version"`
	// Busy is the share of the worker's slots that decoded; 0 for what is not generating.
	Busy float64 `json:"busy,omitempty"`
}

// WriteClock writes the clock's file into a run directory.
func WriteClock(dir string, c *Clock) error {
	text, err := jsonLine(c)
	if err != nil {
		return err
	}
	return WriteFile(dir, ClockFile, text)
}

// readClock reads the clock's file of a run directory with its text; nil where the
// run's schedule has no clock.
func readClock(dir string) (*Clock, []byte, error) {
	c := new(Clock)
	text, err := readJSON(filepath.Join(dir, ClockFile), c)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return c, text, nil
}
