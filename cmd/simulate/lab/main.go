//go:build js

// Command lab is what runs behind the lab's page: the trainer in a worker of the
// browser. It takes messages in JSON from a function driftlab, which it defines, and
// posts its own:
//
//	{"id": 1, "do": "measure", "recipe": "default", "set": ["rollout.numerics=bf16"]}
//	{"id": 2, "do": "train", "recipe": "headline", "set": ["steps=20"]}
//	{"id": 2, "do": "pause"}    also go, and stop
//
//	{"ready": "go1.26"}
//	{"id": 2, "row": {"step": 1, "metrics": {"gap/k3": 0.01}}, "of": 20}
//	{"id": 2, "result": {...}, "digest": "..."}
//	{"id": 2, "fault": "rollout.numerics: ..."}
//
// A run ends with the digest that `simulate train` prints of the same recipe.
package main

import (
	"context"
	"encoding/json"
	"runtime"
	"syscall/js"
	"time"

	"driftlab/results/record"
	"driftlab/trainer/measure"
	"driftlab/trainer/recipe"
	"driftlab/trainer/runner"
)

// message is what the page sends.
type message struct {
	ID     int      `json:"id"`
	Do     string   `json:"do"`
	Recipe string   `json:"recipe"`
	Set    []string `json:"set"`
}

// reply is what goes back; the rest of it is empty.
type reply struct {
	ID     int    `json:"id,omitempty"`
	Ready  string `json:"ready,omitempty"`
	Row    *row   `json:"row,omitempty"`
	Of     int    `json:"of,omitempty"`
	Result any    `json:"result,omitempty"`
	Digest string `json:"digest,omitempty"`
	Fault  string `json:"fault,omitempty"`
}

// row is a step of a run.
type row struct {
	Step    int     `json:"step"`
	Metrics metrics `json:"metrics"`
}

// metrics are written as a run's record writes them.
type metrics []record.Metric

// MarshalJSON is an object in the order of the record.
func (m metrics) MarshalJSON() ([]byte, error) {
	text := []byte{'{'}
	for i, x := range m {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(append(text, '"'), x.Name...), '"', ':')
		text = record.AppendFloat(text, x.Value)
	}
	return append(text, '}'), nil
}

// post sends a reply to the page.
func post(r reply) {
	text, err := json.Marshal(r)
	if err != nil {
		text, _ = json.Marshal(reply{ID: r.ID, Fault: err.Error()})
	}
	js.Global().Call("postMessage", string(text))
}

// job is the one that runs: there is one at a time.
type job struct {
	id     int
	stop   context.CancelFunc
	paused bool
}

var now *job

// receive takes a message. What takes long goes on in a goroutine of its own, which
// lets messages in between two steps.
func receive(_ js.Value, args []js.Value) any {
	var m message
	if err := json.Unmarshal([]byte(args[0].String()), &m); err != nil {
		post(reply{Fault: err.Error()})
		return nil
	}
	switch m.Do {
	case "measure", "train":
		if now != nil {
			now.stop()
		}
		ctx, stop := context.WithCancel(context.Background())
		now = &job{id: m.ID, stop: stop}
		go now.run(ctx, m)
	case "pause", "go", "stop":
		switch {
		case now == nil || now.id != m.ID: // it has ended
		case m.Do == "stop":
			now.stop()
		default:
			now.paused = m.Do == "pause"
		}
	default:
		post(reply{ID: m.ID, Fault: "do " + m.Do + ": expected measure, train, pause, go or stop"})
	}
	return nil
}

// run does what a message asks for, and says how it ended.
func (j *job) run(ctx context.Context, m message) {
	defer j.stop()
	r, err := recipe.Load(m.Recipe, m.Set...)
	if err == nil && m.Do == "measure" {
		err = j.measure(ctx, r)
	} else if err == nil {
		err = j.train(ctx, r)
	}
	if err != nil && ctx.Err() == nil {
		post(reply{ID: j.id, Fault: err.Error()})
	}
	if now == j {
		now = nil
	}
}

func (j *job) measure(ctx context.Context, r recipe.Recipe) error {
	m, err := measure.Gaps(ctx, measure.GapRequest{Recipe: r, Progress: func(int, int) { j.breathe(ctx) }})
	if err == nil {
		post(reply{ID: j.id, Result: m})
	}
	return err
}

func (j *job) train(ctx context.Context, r recipe.Recipe) error {
	result, err := runner.Run(ctx, r, runner.Options{Step: func(step int, m []record.Metric) {
		post(reply{ID: j.id, Row: &row{step, m}, Of: r.Steps})
		j.breathe(ctx)
	}})
	if result != nil {
		post(reply{ID: j.id, Result: result.Summary, Digest: result.Digest()})
	}
	return err
}

// breathe lets the browser deliver messages, and waits while the job is paused.
func (j *job) breathe(ctx context.Context) {
	time.Sleep(time.Millisecond)
	for j.paused && ctx.Err() == nil {
		time.Sleep(50 * time.Millisecond)
	}
}

func main() {
	js.Global().Set("driftlab", js.FuncOf(receive))
	post(reply{Ready: runtime.Version()})
	select {}
}
