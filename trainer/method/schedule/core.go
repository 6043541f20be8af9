package schedule

import (
	"errors"
	"fmt"
	"slices"

	"driftlab/trainer/method"
)

// Config is the cluster and the run that a Core schedules.
type Config struct {
	// Workers is the number of rollout engines.
	Workers int `yaml:"workers" range:"[1,2^16]"`
	// Engine is the number of devices of each.
	Engine int `yaml:"engine" range:"[1,1024]"`
	// Slots is the number of requests that each can serve at once.
	Slots int `yaml:"slots" range:"[1,2^20]"`
	// Trainers is the number of the learner's devices.
	Trainers int `yaml:"trainers" range:"[1,2^16]"`
	// Batch is the number of samples per update.
	Batch int `yaml:"batch" range:"[1,2^20]"`
	// Group is the number of responses per sample.
	Group int `yaml:"group" range:"[1,1024]"`
	// Prompt is the tokens of a prompt where no Outcome says otherwise.
	Prompt int `yaml:"prompt" range:"[1,2^20]"`
	// Steps is the number of updates after which the run stops.
	Steps int `yaml:"steps" range:"[1,2^20]"`
	// Graded says that the driver judges samples as soon as they are done, and may
	// refuse some: it is asked to Grade them.
	Graded bool
	// Old is where the old log-probs come from, if not from where the policy has them.
	Old Old
	// Replay adds samples that were trained before to every update; nothing is replayed
	// where it is zero.
	Replay Replay
	// Seed starts the random numbers of replay, the only ones that a Core draws.
	Seed uint64
	// Costs is what everything takes on the clock.
	Costs Costs `yaml:"costs"`
}

// Validate checks the ranges.
func (c Config) Validate() error {
	if err := method.CheckTags(&c); err != nil {
		return err
	}
	if c.Old < 0 || int(c.Old) >= len(oldLogProbs) {
		return fmt.Errorf("old: there is no way %d", c.Old)
	}
	if err := method.CheckTags(&c.Replay); err != nil && c.Replay != (Replay{}) {
		return fmt.Errorf("replay.%w", err)
	}
	return nil
}

// Core decides what happens when, in integers and without doing any of it. Next
// says what is to be done, Done what came of it. It is not safe for concurrent use.
type Core struct {
	config Config
	policy Policy
	traits Traits
	width  int // responses started per sample

	now     int
	phase   phase
	pending []Command
	given   int // commands of pending that are done

	version, step, unpublished int
	submitted, accepted        int
	taken, trainedBefore       int
	unfinished                 int // requests that are neither finished nor gone

	flight []*Sample  // not done, by ID
	done   []*Sample  // waiting for the learner, in the order of their end
	ended  []*Request // at this very time
	fresh  []*Sample  // done by them
	queue  []*Request
	parked []*Request
	batch  []*Sample // with the learner, until it has begun

	buffer   []*Sample // trained, to be replayed, the oldest first
	replayed []*Sample // in addition to the batch, until it has begun

	workers   []*Worker
	sequence  []int // the order in which workers are gone through
	ordered   []*Worker
	agenda    *agenda
	touched   []int // workers that must look around at the end of their step
	mail      []delivery
	timer     int
	published bool
	suspended bool // the learner has the devices

	learner learner

	log    []Span
	last   []int // index into the log of each lane's last span
	spent  spent
	counts Counts
}

// delivery is weights on their way to a worker.
type delivery struct{ time, worker, version int }

// learner is what the training side is doing.
type learner struct {
	busy   bool
	until  int // never while idle
	trains bool
	update bool
	taken  int // samples since the last update
}

// phase is the order of what happens at one time.
type phase int

const (
	advancing phase = iota
	waking
	collecting
	publishing
	batching
	admitting
	placing
	acting
	phases
)

// New returns a Core at time 0: every worker has version 0 and nothing to do.
func New(config Config, policy Policy) (*Core, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if err := method.Check(policy); err != nil {
		return nil, err
	}
	c := &Core{config: config, policy: policy, traits: policy.Traits(), phase: batching, timer: never, learner: learner{until: never}}
	c.width = config.Group + c.traits.Extra
	if c.traits.Every > 0 {
		c.timer = c.traits.Every
	}
	c.last = slices.Repeat([]int{-1}, config.Workers+1)
	for i := range config.Workers {
		c.workers = append(c.workers, &Worker{ID: i, until: never})
		c.sequence = append(c.sequence, i)
	}
	c.arrange()
	return c, nil
}

func (c *Core) arrange() {
	c.ordered = c.ordered[:0]
	for _, i := range c.sequence {
		c.ordered = append(c.ordered, c.workers[i])
	}
	c.agenda = newAgenda(c.workers, c.sequence)
}

// Next is what is to be done now. It says the same until Done is called.
func (c *Core) Next() Command {
	for len(c.pending) == 0 {
		c.advance()
	}
	return c.pending[c.given]
}

// Done says that the command which Next returned was carried out. After an error
// the Core is not to be used.
func (c *Core) Done(o Outcome) error {
	if len(c.pending) == 0 {
		return errors.New("schedule: done with a command that Next did not give")
	}
	command := c.pending[c.given]
	if command.Kind == Stop {
		return nil
	}
	if c.given++; c.given == len(c.pending) {
		c.pending, c.given = c.pending[:0], 0
	}
	switch command.Kind {
	case Start:
		return c.started(command, o)
	case Decode:
		return c.decoded(command, o)
	case Load:
		c.loaded(command)
	case Evict:
		c.evicted(command)
	case Grade:
		return c.graded(command, o)
	case Train:
		c.training()
	case Publish:
		c.publishes(command)
	}
	return nil
}

// Log is the timeline so far, as far as Forget left it: spans that have begun, in the order of their end or,
// where that is known beforehand, of their begin. It is the Core's own.
func (c *Core) Log() []Span { return c.log }

// Counts are the sums so far. The histograms are the Core's own.
func (c *Core) Counts() Counts { return c.counts }

// Now is the virtual time.
func (c *Core) Now() int { return c.now }

func (c *Core) emit(command Command) {
	command.Time = c.now
	c.pending = append(c.pending, command)
}

// advance goes through what happens at one time: steps end, training ends,
// weights are published, a batch is taken, samples are admitted and find a
// worker. Then it goes on to the next time.
func (c *Core) advance() {
	switch c.phase {
	case advancing:
		if !c.tick() {
			c.emit(Command{Kind: Stop, Version: c.version, Stuck: true})
			return
		}
	case waking:
		if w := c.agenda.top(); w.until == c.now {
			c.wake(w)
			return
		}
	case collecting:
		if c.complete(); len(c.fresh) > 0 && c.config.Graded {
			command := Command{Kind: Grade, Version: c.version}
			for _, s := range c.fresh {
				command.Samples = append(command.Samples, s.ID)
			}
			c.emit(command)
			return
		}
		c.collect(nil)
		c.learned()
	case publishing:
		c.mail = slices.DeleteFunc(c.mail, func(d delivery) bool {
			if d.time <= c.now {
				c.deliver(c.workers[d.worker], d.version)
			}
			return d.time <= c.now
		})
		c.considerPublishing()
	case batching:
		if c.step >= c.config.Steps && !c.learner.busy { // the last update is on its way
			c.stop()
			return
		}
		c.takeBatch()
	case admitting:
		c.admit()
	case placing:
		c.place()
	case acting:
		if c.act(); len(c.pending) > 0 {
			return // what leaves a worker may have another to go to
		}
		c.published = false
	}
	c.phase = (c.phase + 1) % phases
}

// stop ends the run, once the workers have said how far they are.
func (c *Core) stop() {
	c.suspended = true
	for _, w := range c.ordered {
		c.interrupt(w)
	}
	if len(c.pending) == 0 {
		c.emit(Command{Kind: Stop, Version: c.version})
	}
}

// tick moves the clock to the next event; it reports false if there is none.
func (c *Core) tick() bool {
	next := min(c.agenda.top().until, c.learner.until)
	for _, d := range c.mail {
		next = min(next, d.time)
	}
	if next == never {
		return false
	}
	c.now = min(next, c.timer)
	return true
}

// view is what the policy is given now.
func (c *Core) view() View {
	return View{
		Now: c.now, Version: c.version, Step: c.step, Unpublished: c.unpublished,
		Batch: c.config.Batch, Group: c.config.Group,
		Submitted: c.submitted, Running: len(c.flight), Accepted: c.accepted, Taken: c.taken, TrainedBefore: c.trainedBefore,
		Idle: !c.learner.busy, Accumulated: c.learner.taken, Active: c.unfinished - len(c.parked),
		Slots: c.config.Slots * c.config.Workers, SlotsEach: c.config.Slots,
		Done: c.done, Flight: c.flight, Queue: c.queue, Workers: c.ordered,
		Published: c.published,
	}
}
