//go:build js

// Command lab is the program of the lab's page: the trainer in a worker of the
// browser. It takes messages in JSON from a function driftlab, which it defines, and
// posts its own:
//
//	{"v": 1, "id": 1, "do": "measure", "recipe": "default", "set": ["rollout.numerics=bf16"]}
//	{"v": 1, "id": 2, "do": "train", "recipe": "headline", "set": ["steps=20"]}
//	{"v": 1, "id": 2, "do": "pause"}    also go, step (one, then pause) and stop
//	{"v": 1, "id": 2, "do": "save"}     the last run's folder
//	{"v": 1, "id": 3, "do": "check", "recipe": "default", "set": [...]}
//	{"v": 1, "id": 4, "do": "explain", "recipe": "default", "set": [...], "update": 3, "token": 1}
//	{"v": 1, "id": 5, "do": "flips", "recipe": "default", "set": [...]}
//
//	{"v": 1, "ready": "go1.26"}         at the start, and to hello
//	{"id": 2, "progress": {"done": 3, "of": 20, "eta": 12.5}}
//	{"id": 2, "rows": [{"step": 1, "metrics": {"gap/k3": 0.01}}], "panels": [...]}
//	{"id": 1, "tokens": {"logp_rollout": Float32Array, ...}}    transferred, not text
//	{"id": 2, "result": {...}, "panels": [...], "digest": "...", "command": "simulate ..."}
//	{"id": 2, "file": "NAME.zip", "bytes": Uint8Array}          transferred, not text
//	{"id": 2, "fault": "rollout.numerics: ..."}
//
// Panels are pictures to be painted as they are (package results/figure). A run ends
// with the digest that `simulate train` prints of the same recipe.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"syscall/js"
	"time"

	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/trainer/recipe"
)

// protocol is the version of the messages.
const protocol = 1

type message struct {
	V      int      `json:"v"`
	ID     int      `json:"id"`
	Do     string   `json:"do"`
	Recipe string   `json:"recipe"`
	Set    []string `json:"set"`
	Update int      `json:"update"`
	Token  int      `json:"token"`
}

// reply is what goes back; the rest of it is empty.
type reply struct {
	V        int             `json:"v"`
	ID       int             `json:"id,omitempty"`
	Ready    string          `json:"ready,omitempty"`
	Progress *progress       `json:"progress,omitempty"`
	Rows     []row           `json:"rows,omitempty"`
	Panels   []figure.Figure `json:"panels,omitempty"`
	Result   any             `json:"result,omitempty"`
	Digest   string          `json:"digest,omitempty"`
	Command  string          `json:"command,omitempty"`
	Fault    string          `json:"fault,omitempty"`
}

// progress is how far a job has come, and the seconds it may still take.
type progress struct {
	Done int     `json:"done"`
	Of   int     `json:"of"`
	ETA  float64 `json:"eta,omitempty"`
}

type row struct {
	Step    int            `json:"step"`
	Metrics record.Metrics `json:"metrics"`
}

func post(r reply) {
	r.V = protocol
	text, err := json.Marshal(r)
	if err != nil {
		text, _ = json.Marshal(reply{V: protocol, ID: r.ID, Fault: err.Error()})
	}
	js.Global().Call("postMessage", string(text))
}

// job is the one that runs: there is one at a time.
type job struct {
	id     int
	stop   context.CancelFunc
	paused bool
	budget int // steps to make although it is paused
}

var (
	now  *job
	last *saved // what save gives
)

// receive takes a message. What takes long goes on in a goroutine of its own, which
// lets messages in between two steps.
func receive(_ js.Value, args []js.Value) any {
	var m message
	if err := json.Unmarshal([]byte(args[0].String()), &m); err != nil {
		post(reply{Fault: err.Error()})
		return nil
	}
	if m.V > protocol {
		post(reply{ID: m.ID, Fault: fmt.Sprintf("a message of version %d: this program knows %d; reload the page", m.V, protocol)})
		return nil
	}
	switch m.Do {
	case "hello":
		post(reply{ID: m.ID, Ready: runtime.Version()})
	case "measure", "train", "check", "explain", "flips":
		if now != nil {
			now.stop()
		}
		ctx, stop := context.WithCancel(context.Background())
		now = &job{id: m.ID, stop: stop}
		go now.run(ctx, m)
	case "save":
		go save(m.ID)
	case "pause", "go", "step", "stop":
		if now != nil && now.id == m.ID { // else it has ended
			now.control(m.Do)
		}
	default:
		post(reply{ID: m.ID, Fault: "do " + m.Do + ": expected hello, measure, train, check, explain, flips, pause, go, step, stop or save"})
	}
	return nil
}

// control acts on a job between two steps.
func (j *job) control(do string) {
	switch do {
	case "stop":
		j.stop()
	case "step":
		j.paused, j.budget = true, 1
	default:
		j.paused, j.budget = do == "pause", 0
	}
}

// run does what a message asks for, and says how it ended.
func (j *job) run(ctx context.Context, m message) {
	defer j.stop()
	r, err := recipe.Load(m.Recipe, m.Set...)
	if err == nil {
		switch m.Do {
		case "measure":
			err = j.measure(ctx, r, m)
		case "train":
			err = j.train(ctx, r, m)
		case "explain":
			err = j.explain(ctx, r, m)
		case "flips":
			err = j.flips(r, m)
		case "check":
			post(reply{ID: j.id, Result: map[string]string{"recipe": string(r.YAML())}})
		}
	}
	if err != nil && ctx.Err() == nil {
		post(reply{ID: j.id, Fault: err.Error()})
	}
	if now == j {
		now = nil
	}
}

// breathe lets the browser deliver messages, and waits while the job is paused.
func (j *job) breathe(ctx context.Context) {
	time.Sleep(time.Millisecond)
	if j.budget > 0 {
		j.budget--
	}
	for j.paused && j.budget == 0 && ctx.Err() == nil {
		time.Sleep(20 * time.Millisecond)
	}
}

func main() {
	js.Global().Set("driftlab", js.FuncOf(receive))
	post(reply{Ready: runtime.Version()})
	select {}
}
