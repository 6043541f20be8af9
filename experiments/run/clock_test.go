package run

import (
	"os"
	"path/filepath"
	"testing"

	"driftlab/results/record"
	"driftlab/trainer/recipe"
	"driftlab/trainer/trainertest"
)

// What a clock leaves counts every trained sample and token of the run, shows its last
// versions from a training on, and is no longer for being of a long run. A schedule
// without a clock leaves none.
func TestClock(t *testing.T) {
	of := func(sets ...string) (recipe.Recipe, *Result, int) {
		t.Helper()
		r := trainertest.Recipe(t, sets...)
		dir := filepath.Join(t.TempDir(), "run")
		result := mustRun(t, r, Options{Dir: dir})
		info, err := os.Stat(filepath.Join(dir, record.ClockFile))
		if err != nil {
			return r, result, 0
		}
		return r, result, int(info.Size())
	}
	if _, run, size := of("steps=2"); size != 0 || run.Record.Clock != nil {
		t.Errorf("a synchronous run leaves a clock of %d bytes", size)
	}
	_, short, size := of("schedule={name: areal, eta: 2}", "steps=10", "eval.every=0")
	r, long, more := of("schedule={name: areal, eta: 2}", "steps=60", "eval.every=0")
	c := long.Record.Clock
	if size == 0 || more > size*3/2 || len(c.Spans) > 2*len(short.Record.Clock.Spans) {
		t.Errorf("%d bytes after 10 steps, %d after 60", size, more)
	}
	samples, tokens := 0, 0
	for _, n := range c.Lags {
		samples += n
	}
	for _, n := range c.TokenLags {
		tokens += n
	}
	lengths := 0.0
	for _, n := range long.Record.Column("response_length/mean").Value {
		lengths += n * float64(r.Rollout.Responses())
	}
	if samples != 60*r.Rollout.Prompts || tokens != int(lengths+0.5) {
		t.Errorf("lags of %d samples and %d tokens, trained were %d and %v", samples, tokens, 60*r.Rollout.Prompts, lengths)
	}
	trained := map[int]bool{}
	for _, s := range c.Spans {
		if s.Activity == "training" {
			trained[s.Version] = true
		}
		if s.To <= c.From || s.From > c.To {
			t.Errorf("%+v is outside %d to %d", s, c.From, c.To)
		}
	}
	if c.From == 0 || len(trained) != 8 || !trained[58] {
		t.Errorf("from %d on, the trainings of versions %v", c.From, trained)
	}
	if begun := short.Record.Clock; begun.From == 0 || begun.To >= c.From {
		t.Errorf("10 steps end at %d, the last of 60 begin at %d", begun.To, c.From)
	}
}
