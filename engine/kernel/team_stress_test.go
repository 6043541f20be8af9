package kernel

import (
	"flag"
	"runtime"
	"sync"
	"testing"
)

var exhaustive = flag.Bool("exhaustive", false, "rounds by the ten thousand, as in nightly tests, in place of two thousand")

// numbered is a job whose parts write down in which round they were done.
type numbered struct {
	round int
	done  [6]int
}

func (j *numbered) Part(i int) { j.done[i] = j.round }

// Teams with more workers than cores, whose workers are held up anywhere: no round
// ends before its parts, none begins for a worker that is still in the last, and
// none waits for ever.
func TestTeamHeldUp(t *testing.T) {
	rounds := 2_000
	if *exhaustive {
		rounds = 20_000
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			team := NewTeam(3)
			defer team.Close()
			var job numbered
			for range rounds {
				job.round++
				team.Run(len(job.done), &job)
				for i, round := range job.done {
					if round != job.round {
						t.Errorf("round %d: part %d is of round %d", job.round, i, round)
						return
					}
				}
			}
		})
	}
	wait.Wait()
}
