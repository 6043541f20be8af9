package schedule_test

import (
	"fmt"

	"driftlab/trainer/method"
	"driftlab/trainer/method/schedule"
)

// sampler stands for a rollout engine: it finds out at each step who is done.
type sampler struct{ length, made map[int]int }

// A driver: it carries out what the Core commands and says what came of it. This
// one samples without knowing lengths beforehand.
func ExampleCore() {
	config := schedule.Config{
		Workers: 1, Engine: 1, Slots: 2, Trainers: 1, Batch: 1, Group: 2, Prompt: 5, Steps: 2, Costs: *method.New[schedule.Costs](),
	}
	core, err := schedule.New(config, &schedule.OneStepOff{Interval: 1})
	if err != nil {
		panic(err)
	}
	engine := sampler{length: map[int]int{}, made: map[int]int{}}
	var running []int // requests in the only worker
	for {
		c := core.Next()
		var o schedule.Outcome
		switch c.Kind {
		case schedule.Start:
			running = append(running, c.Requests...)
			for i, r := range c.Requests {
				engine.length[r] = 2 + r%2
				o.Prompts = append(o.Prompts, 5+c.Origins[i]) // tokens
			}
		case schedule.Decode:
			var still []int
			for _, r := range running {
				if engine.made[r] += c.Steps; engine.made[r] == engine.length[r] {
					o.Finished = append(o.Finished, r)
				} else {
					still = append(still, r)
				}
			}
			running = still
		case schedule.Load:
			fmt.Println("load version", c.Version)
		case schedule.Train:
			fmt.Println("train samples", c.Samples, "when version", c.Version, "is out")
		case schedule.Publish:
			fmt.Println("keep the weights as version", c.Version)
		case schedule.Stop:
			fmt.Println("lags", core.Counts().Lags)
			return
		}
		if err := core.Done(o); err != nil {
			panic(err)
		}
	}
	// Output:
	// train samples [0] when version 0 is out
	// keep the weights as version 1
	// load version 1
	// train samples [1] when version 1 is out
	// lags [1 1]
}
