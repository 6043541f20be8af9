package simulation

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"driftlab/trainer/method"
	"driftlab/trainer/method/schedule"
)

// Run is what came of one.
type Run struct {
	Config schedule.Config
	Counts schedule.Counts
	Use    schedule.Use
	Log    []schedule.Span
	// Makespan is the ticks from the first event to the last.
	Makespan int
	// Stuck says that the run stopped short.
	Stuck bool
	// Started and StartedTokens are the responses that were begun, and the tokens
	// that they come to, whether they got there or not.
	Started, StartedTokens int
	// Updates are the times at which training of each update began, Ends those at
	// which responses ended.
	Updates, Ends []int
}

// engine answers the commands of a Core out of a distribution of lengths.
type engine struct {
	law     Law
	seed    uint64
	width   int
	workers [][]response
	away    map[int]response // evicted, to come back
	run     *Run
}

// response is one under way; calls are the tokens after which it calls a tool.
type response struct {
	id, left, length int
	calls            []int
}

// Simulate runs a policy to its end. Lengths come from the distribution and the seed; what
// a prompt's responses come to does not depend on the policy.
func Simulate(config schedule.Config, policy schedule.Policy, law Law, seed uint64) (*Run, error) {
	core, err := schedule.New(config, policy)
	if err != nil {
		return nil, err
	}
	e := engine{law: law, seed: seed, width: config.Group + policy.Traits().Extra, workers: make([][]response, config.Workers), away: map[int]response{}, run: &Run{Config: config}}
	for {
		c := core.Next()
		if c.Kind == schedule.Stop {
			e.run.Stuck = c.Stuck
			break
		}
		if err := core.Done(e.execute(c)); err != nil {
			return nil, err
		}
	}
	e.run.Counts, e.run.Use, e.run.Log, e.run.Makespan = core.Counts(), core.Use(), core.Log(), core.Now()
	return e.run, nil
}

func (e *engine) execute(c schedule.Command) schedule.Outcome {
	var o schedule.Outcome
	switch c.Kind {
	case schedule.Start:
		e.start(c, &o)
	case schedule.Decode:
		active := e.workers[c.Worker]
		kept := active[:0]
		for _, r := range active {
			if !slices.Contains(c.Requests, r.id) {
				r.left -= c.Steps
				if _, calls := slices.BinarySearch(r.calls, r.length-r.left); calls {
					o.Called = append(o.Called, schedule.ToolCall{Request: r.id})
				}
			}
			if r.left == 0 {
				o.Finished = append(o.Finished, r.id)
				e.run.Ends = append(e.run.Ends, c.Time)
			} else {
				kept = append(kept, r)
			}
		}
		e.workers[c.Worker] = kept
	case schedule.Load:
		if c.Cache == schedule.Restart {
			for i := range e.workers[c.Worker] {
				e.workers[c.Worker][i].left = e.workers[c.Worker][i].length
			}
		}
	case schedule.Evict:
		e.evict(c)
	case schedule.Grade:
		for _, n := range c.Samples {
			if e.law.refused(e.seed, n) {
				o.Refused = append(o.Refused, n)
			}
		}
	case schedule.Train:
		if c.Update {
			e.run.Updates = append(e.run.Updates, c.Time)
		}
	}
	return o
}

// start brings responses into a worker and says how long they will be, and when they
// call tools.
func (e *engine) start(c schedule.Command, o *schedule.Outcome) {
	o.Lengths = make([]int, len(c.Requests))
	for i, id := range c.Requests {
		r, ok := e.away[id]
		if ok {
			delete(e.away, id)
		} else {
			turns := e.law.turns(nil, e.seed, c.Origins[i], id%e.width)
			calls, n := turns[:len(turns)-1], turns[len(turns)-1]
			r = response{id, n, n, calls}
			e.run.Started++
			e.run.StartedTokens += n
		}
		e.workers[c.Worker] = append(e.workers[c.Worker], r)
		o.Lengths[i] = r.length
		if len(r.calls) > 0 && o.Calls == nil {
			o.Calls = make([][]int, len(c.Requests))
		}
		if o.Calls != nil {
			o.Calls[i] = r.calls
		}
	}
}

// evict takes responses out of a worker.
func (e *engine) evict(c schedule.Command) {
	kept := e.workers[c.Worker][:0]
	for _, r := range e.workers[c.Worker] {
		switch {
		case !slices.Contains(c.Requests, r.id):
			kept = append(kept, r)
		case c.Cache != schedule.Restart:
			e.away[r.id] = r
		}
	}
	e.workers[c.Worker] = kept
}

// Cluster is a number of devices and what is run on them. Its defaults are of a
// reasoning model of 32B.
type Cluster struct {
	// Devices is the number of all, 2 at least.
	Devices int `yaml:"-"`
	// Generate is the percentage of the devices that generate where a system
	// divides them; the others train. Default 75 (AReaL; ROLL 60, verl 50).
	Generate int `yaml:"generate" default:"75" range:"[1,99]"`
	// Engine is the devices of a rollout engine. Default 8, a node.
	Engine int `yaml:"engine" default:"8" range:"[1,1024]"`
	// Slots is the number of requests served at once per device. Default 64: three
	// batches are in flight then.
	Slots int `yaml:"slots" default:"64" range:"[1,1024]"`
	// Batch is the number of prompts per update; 0 for two per device.
	Batch int `yaml:"batch" range:"[0,2^20]"`
	// Group is the responses per prompt. Default 8.
	Group int `yaml:"group" default:"8" range:"[1,1024]"`
	// Prompt is the tokens of a prompt. Default 256.
	Prompt int `yaml:"prompt" default:"256" range:"[1,2^20]"`
	// Refuse is the percentage of samples that are refused when they are done, as
	// dynamic sampling refuses groups of equal rewards (DAPO, 2503.14476). Default 0.
	Refuse int `yaml:"refuse" range:"[0,99]"`
	// Delta is the percentage of the weights that a sync moves: of costs.push and costs.sync. A sync of what has
	// changed moves 1 to 3 % (verl docs/advance/delta_weight_sync.md, which measured 1.3 to 21 times the speed).
	// Default 100.
	Delta int `yaml:"delta" default:"100" range:"[0,100]"`
	// Old is where the old log-probs come from: system, batch_start, rollout,
	// sync_start, snapshots, dedicated, interrupt, ewma, interpolated or mixture. Default system.
	Old string `yaml:"old" default:"system"`
	// Steps is the number of updates.
	Steps int            `yaml:"-"`
	Costs schedule.Costs `yaml:"-"`
}

// DefaultCluster has that many devices.
func DefaultCluster(devices int) Cluster {
	c := *method.New[Cluster]()
	c.Devices, c.Steps = devices, 20
	return c
}

// Validate checks the ranges.
func (c Cluster) Validate() error {
	const most = 1 << 14
	if c.Devices < 2 || c.Devices > most {
		return fmt.Errorf("gpus: %d is outside [2, %d]", c.Devices, most)
	}
	if _, err := schedule.LookupOld(c.Old); err != nil {
		return fmt.Errorf("cluster.old: %w", err)
	}
	return method.CheckTags(&struct {
		Cluster *Cluster `yaml:"cluster"`
	}{&c})
}

// Together is the configuration of a system that generates and trains on the same
// devices, in turns.
func (c Cluster) Together() schedule.Config {
	config := c.config(c.Devices)
	config.Trainers = c.Devices
	return config
}

// Apart is the configuration of a system that divides the devices.
func (c Cluster) Apart() schedule.Config {
	return c.config(min(max(c.Devices*c.Generate/100, 1), c.Devices-1))
}

// For is the configuration that a policy runs in.
func (c Cluster) For(p schedule.Policy) schedule.Config {
	if p.Traits().Colocated {
		return c.Together()
	}
	return c.Apart()
}

// config makes whole engines of that many devices; the others train.
func (c Cluster) config(generate int) schedule.Config {
	batch := cmp.Or(c.Batch, 2*c.Devices)
	engine := min(c.Engine, generate)
	workers := generate / engine
	old, _ := schedule.LookupOld(c.Old)
	c.Costs.Push, c.Costs.Sync = c.Costs.Push*c.Delta/100, c.Costs.Sync*c.Delta/100
	return schedule.Config{
		Workers: workers, Engine: engine, Slots: c.Slots * engine, Trainers: c.Devices - workers*engine,
		Batch: batch, Group: c.Group, Prompt: c.Prompt, Steps: c.Steps, Graded: c.Refuse > 0, Old: old, Costs: c.Costs,
	}
}

// Assign sets a parameter, given as key=value: one of the policy by its name, of the
// cluster as cluster.NAME, of the costs as costs.NAME.
func Assign(policy schedule.Policy, c *Cluster, assignment string) error {
	key, text, ok := strings.Cut(assignment, "=")
	if !ok {
		return fmt.Errorf("%q: give key=value", assignment)
	}
	var known []string
	for _, group := range []struct {
		prefix string
		of     any
	}{{"", policy}, {"cluster.", c}, {"costs.", &c.Costs}} {
		for _, p := range Parameters(group.of) {
			if known = append(known, group.prefix+p.Name); known[len(known)-1] != key {
				continue
			}
			if err := set(p.value, text); err != nil {
				return fmt.Errorf("%s: %q: %w", key, text, err)
			}
			return nil
		}
	}
	return method.UnknownName(key, known)
}

// Parameter is one that can be assigned.
type Parameter struct {
	Name  string
	value reflect.Value
}

// String is the parameter as it would be assigned.
func (p Parameter) String() string { return fmt.Sprintf("%s=%v", p.Name, p.value) }

// Parameters are the fields of what a pointer points to, by their names in a recipe.
func Parameters(of any) []Parameter {
	v := reflect.ValueOf(of).Elem()
	var all []Parameter
	for i := range v.NumField() {
		if name := v.Type().Field(i).Tag.Get("yaml"); name != "" && name != "-" {
			all = append(all, Parameter{name, v.Field(i)})
		}
	}
	return all
}

// set reads a whole number, a truth value or a word.
func set(field reflect.Value, text string) error {
	switch field.Kind() {
	case reflect.String:
		field.SetString(text)
	case reflect.Bool:
		yes, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("give true or false")
		}
		field.SetBool(yes)
	default:
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("give a whole number")
		}
		field.SetInt(int64(n))
	}
	return nil
}
