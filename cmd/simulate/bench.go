package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"

	"driftlab/engine"
	"driftlab/experiments/bench"
	"driftlab/model"
	"driftlab/model/gguf"
	"driftlab/trainer/method"
)

type benchCmd struct {
	D         number `name:"d" help:"Width of the model." default:"64" min:"1" max:"4096"`
	Layers    number `help:"Layers." default:"2" min:"1" max:"64"`
	Heads     number `help:"Attention heads." default:"4" min:"1" max:"256"`
	Experts   number `help:"Experts per layer; 0 is the dense variant." default:"8" max:"256"`
	TopK      number `name:"topk" help:"Experts per token." default:"2" min:"1" max:"256"`
	FF        number `name:"ff" help:"Inner width of an expert." default:"128" min:"1" max:"16384"`
	Vocab     number `help:"Vocabulary." default:"32" min:"1" max:"65536"`
	Batch     number `help:"Responses per step." default:"256" min:"1" max:"65536"`
	Group     number `help:"Responses per prompt." default:"8" min:"1" max:"65536"`
	Prompt    number `help:"Prompt tokens." default:"16" min:"1" max:"8192"`
	Gen       number `help:"Tokens generated per response." default:"48" min:"1" max:"8192"`
	Steps     number `help:"Steps to time, after one warm-up step." default:"3" min:"1" max:"100000"`
	Slots     number `help:"Responses decoded in parallel." default:"64" min:"1" max:"65536"`
	Rollout   string `help:"Numerics of the rollout engine." default:"fp32" placeholder:"PRESET" complete:"numerics"`
	Learner   string `help:"Numerics of the trainer (learner)." default:"fp32" placeholder:"PRESET" complete:"numerics"`
	Recompute bool   `help:"Compute activations again in the backward pass instead of keeping them."`
	Against   string `overrides:"--grow --peer" help:"Another build of this program, timed alternately with this build." placeholder:"FILE" complete:"files"`
	Rounds    number `needs:"--against" help:"Measurements of each build with --against." default:"5" min:"1" max:"1000" placeholder:"N"`
	Grow      bool   `overrides:"--peer" help:"Time steps twice and four times as long, wide, with as many experts and responses, and print how processor time grows."`
	Peer      string `help:"Write the weights and prompts to a new folder, and print as JSON what a program in another framework needs to make the same step, with the processor time of each phase here." placeholder:"DIR" complete:"dirs"`
	jsonFlag
	workFlags
}

// Run times the steps.
func (c *benchCmd) Run(a *app) error {
	step := c.step()
	if need, has := step.Memory(), model.MachineMemory(); need >= float64(has) {
		flag, value := c.largest()
		return bad("--%s %d: bench would need about %.0f GiB of memory, and this machine has %.1f", flag, value, need/(1<<30), float64(has)/(1<<30))
	}
	if err := step.Model.Validate(); err != nil {
		return bad("bench: %v", err)
	}
	for _, of := range []struct {
		flag, name string
		to         *engine.Numerics
	}{{"--rollout", c.Rollout, &step.Rollout}, {"--learner", c.Learner, &step.Learner}} {
		preset, known := engine.Preset(of.name)
		if !known {
			return bad("%s: %v", of.flag, method.UnknownName(of.name, engine.PresetNames()))
		}
		*of.to = preset
	}
	if c.Against != "" {
		return c.timeInTurns(a)
	}
	if c.Grow {
		return c.grow(a, step)
	}
	if c.Peer != "" {
		return c.peer(a, step)
	}
	results, err := c.measure(a, step)
	if err != nil {
		return err
	}
	doc := results[0]
	return a.show(c.JSON, doc, doc.Table(step))
}

// measure times steps, one after the other.
func (c *benchCmd) measure(a *app, list ...bench.Step) (results []bench.Result, err error) {
	m := a.meter(c.Quiet, "bench", "step", len(list)*(int(c.Steps)+1))
	defer m.close()
	start := time.Now()
	clocks := bench.Clocks{Wall: func() time.Duration { return time.Since(start) }, Processor: bench.ProcessorTime}
	for _, step := range list {
		results = append(results, step.Measure(c.workers(), clocks, bench.PeakMemory, func() { m.add(1, 0, "") }))
		if err := a.ctx.Err(); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// step is what the flags describe, without its numerics.
func (c *benchCmd) step() bench.Step {
	return bench.Step{
		Model: model.Config{
			Layers: int(c.Layers), DModel: int(c.D), Heads: int(c.Heads), Experts: int(c.Experts), TopK: int(c.TopK), DFF: int(c.FF),
			Vocab: int(c.Vocab), Context: int(c.Prompt + c.Gen),
		}.WithDefaults(),
		Batch: int(c.Batch), Group: int(c.Group), Prompt: int(c.Prompt), Gen: int(c.Gen),
		Slots: int(c.Slots), Steps: int(c.Steps), Recompute: c.Recompute,
	}
}

// largest is the flag to blame for the memory: the one that would save the most
// if it were left out.
func (c *benchCmd) largest() (flag string, value number) {
	least := c.step().Memory()
	for _, f := range reflect.VisibleFields(reflect.TypeFor[benchCmd]()) {
		usual, err := strconv.Atoi(f.Tag.Get("default"))
		if f.Type != reflect.TypeFor[number]() || err != nil {
			continue
		}
		other := *c
		reflect.ValueOf(&other).Elem().FieldByIndex(f.Index).SetInt(int64(usual))
		if m := other.step().Memory(); m < least {
			flag, value, least = cmp.Or(f.Tag.Get("name"), strings.ToLower(f.Name)), number(reflect.ValueOf(c).Elem().FieldByIndex(f.Index).Int()), m
		}
	}
	return flag, value
}

// build is a program that has bench.
type build struct {
	name string // in a complaint
	path string
	bench.Build
}

// timeInTurns times this build and another, each as a process of its own, the first
// of a round last in the next.
func (c *benchCmd) timeInTurns(a *app) error {
	here, err := os.Executable()
	if err != nil {
		return err
	}
	there, err := filepath.Abs(c.Against)
	if err != nil {
		return err
	}
	if info, err := os.Stat(there); err != nil || info.IsDir() {
		return bad("--against %s: there is no such program", c.Against)
	}
	pair := []*build{{name: "this build", path: here}, {name: "--against " + c.Against, path: there}}
	m := a.meter(c.Quiet, "bench", "run", 2*int(c.Rounds))
	defer m.close()
	for round := range int(c.Rounds) {
		for i := range pair {
			b := pair[(i+round)%2]
			if err := b.time(a, a.changed("bench")); err != nil {
				if err := a.ctx.Err(); err != nil {
					return err
				}
				return bad("%s: %w", b.name, err)
			}
			m.add(1, 0, "")
		}
	}
	m.close()
	doc := bench.Compare(c.Against, &pair[0].Build, &pair[1].Build)
	return a.show(c.JSON, doc, doc.Table())
}

// changed are a command's flags as the user changed them, without those that say
// what is printed: so that a build that lacks a new flag is asked for nothing but
// what it would do anyway.
func (a *app) changed(command string) []string {
	args := []string{command, "--json", "--quiet"}
	for _, f := range visibleFlags(childNamed(a.parser.Model.Node, command)) {
		value := fmt.Sprint(f.Target.Interface())
		switch f.Name {
		case "json", "quiet", "against", "rounds", "grow", "peer", "help", "version":
		default:
			if value != f.Default && !(f.IsBool() && value == "false") {
				args = append(args, "--"+f.Name+"="+value)
			}
		}
	}
	return args
}

// time runs the build once.
func (b *build) time(a *app, args []string) error {
	command := exec.CommandContext(a.ctx, b.path, args...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	text, err := command.Output()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, strings.TrimPrefix(strings.TrimSpace(stderr.String()), "simulate: "))
	}
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		return errors.New("does not print what bench --json does")
	}
	return b.Add(doc, command.ProcessState.UserTime().Seconds()+command.ProcessState.SystemTime().Seconds())
}

const (
	peerCheckpoint = "checkpoint"
	peerGGUF       = "model.f32.gguf"
	peerPrompts    = "prompts.json"
)

// peer writes what other programs compute on, times the step and prints what they need.
func (c *benchCmd) peer(a *app, step bench.Step) error {
	if err := emptyFolder(c.Peer); err != nil {
		return err
	}
	params, doc := step.Params(), step.Peer()
	doc.Checkpoint, doc.Prompts = filepath.Join(c.Peer, peerCheckpoint), filepath.Join(c.Peer, peerPrompts)
	prompts, _ := json.Marshal(step.Prompts()) // of whole numbers
	if err := writeFile(c.Peer, peerPrompts, append(prompts, '\n')); err != nil {
		return err
	}
	if err := model.Save(doc.Checkpoint, params, model.Extras{}); err != nil {
		return err
	}
	var file bytes.Buffer
	if err := gguf.Write(&file, params, "bench", gguf.F32); err == nil { // else llama.cpp has no such model
		doc.GGUF = filepath.Join(c.Peer, peerGGUF)
		if err := writeFile(c.Peer, peerGGUF, file.Bytes()); err != nil {
			return err
		}
	}
	results, err := c.measure(a, step)
	if err != nil {
		return err
	}
	doc.Result = results[0]
	return a.printJSON(doc)
}

// grow times steps of growing sizes and prints the slopes.
func (c *benchCmd) grow(a *app, step bench.Step) error {
	list := step.Grow()
	var steps []bench.Step
	for _, s := range list {
		if err := s.Step.Model.Validate(); err != nil {
			return bad("bench: --grow: %s %d: %v", s.Axis, s.Value, err)
		}
		if need, has := s.Step.Memory(), model.MachineMemory(); need >= float64(has) {
			return bad("bench: --grow: %s %d would need about %.0f GiB of memory, and this machine has %.1f: begin with smaller sizes", s.Axis, s.Value, need/(1<<30), float64(has)/(1<<30))
		}
		steps = append(steps, s.Step)
	}
	results, err := c.measure(a, steps...)
	if err != nil {
		return err
	}
	doc, err := bench.NewGrowth(list, results)
	if err != nil {
		return bad("bench: --grow: %v", err)
	}
	return a.show(c.JSON, doc, doc.Table())
}
