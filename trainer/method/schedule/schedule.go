package schedule

import (
	"embed"
	"slices"

	"driftlab/trainer/method"
)

// texts are methods.txt: what each method does, when to use it, and its source; and examples.txt: worked examples, which a
// test recomputes (go test -run WorkedExamples -update writes them).
//
//go:embed examples.txt methods.txt
var texts embed.FS

// Systems holds every policy that a Core can run.
var Systems = method.Table[Policy]{
	method.Of[Policy, Sync]("sync"),
	method.Of[Policy, Lag]("lag"),
	method.Of[Policy, OneStepOff]("one_step_off"),
	method.Of[Policy, streamRL]("stream"),
	method.Of[Policy, Periodic]("periodic"),
	method.Of[Policy, distFlow]("distflow"),
	method.Of[Policy, Seer]("seer"),
	method.Of[Policy, kimi]("kimi"),
	method.Of[Policy, april]("april"),
	method.Of[Policy, copris]("copris"),
	method.Of[Policy, AReaL]("areal"),
	method.Of[Policy, SkyRL]("skyrl"),
	method.Of[Policy, pipelineRL]("pipeline_rl"),
	method.Of[Policy, slimeFullyAsync]("slime_fully_async"),
	method.Of[Policy]("verl_on_policy", verl(1, 0, false)),
	method.Of[Policy]("verl_stream", verl(4, 0, false)),
	method.Of[Policy]("verl_stale", verl(4, 10, false)),
	method.Of[Policy]("verl_partial", verl(4, 10, true)),
	method.Of[Policy, RollFlash]("roll_flash"),
	method.Of[Policy, rollAgentic]("roll_flash_agentic"),
	method.Of[Policy, primeRL]("prime_rl"),
	method.Of[Policy, trl]("trl"),
	method.Of[Policy, echo2]("echo2"),
	method.Of[Policy, LlamaRL]("llamarl"),
	method.Of[Policy, asyncFlow]("asyncflow"),
	method.Of[Policy, Laminar]("laminar"),
	method.Of[Policy, oapl]("oapl"),
	method.Of[Policy, dora]("dora"),
	method.Of[Policy, windowedFIFO]("windowed_fifo"),
	method.Of[Policy, NeMoWindowed]("nemo_windowed"),
	method.Of[Policy, nemo]("nemo_ready_first"),
	method.Of[Policy]("nemo_weight_fifo", func(p *nemo) { p.order = weightFIFO }),
	method.Of[Policy]("nemo_in_order", func(p *nemo) { p.order = inOrder }),
	method.Of[Policy, verlV1]("verl_v1"),
	method.Of[Policy, miles]("miles"),
	method.Of[Policy, tinkerPaced]("tinker_paced"),
	method.Of[Policy, tailBatching]("tail_batching"),
	method.Of[Policy, QueueDrop]("queue_drop"),
}.Filled(method.Spec{Group: "schedule", Unit: method.System, Gradient: "none: a schedule chooses weights"}, texts)

// Use is how much of its time a cluster worked so far. What is under way counts for
// the workers up to now, and for the learner to its end, which is known.
type Use struct {
	// End is the end of what the learner is doing, or now.
	End int `json:"-"`
	// IdleTrainer is the share of the time up to End in which the learner waited,
	// IdleRollout that up to now in which a worker did nothing at all.
	IdleTrainer float64 `json:"idle_trainer"`
	IdleRollout float64 `json:"idle_rollout"`
	// BubbleIntra is the share of slots that were free while their worker decoded,
	// BubbleInter that of the slots of workers that did not.
	BubbleIntra float64 `json:"bubble_intra"`
	BubbleInter float64 `json:"bubble_inter"`
}

// spent are the ticks of the log: the learner's, the workers', those of them spent
// decoding, and these times the slots that did.
type spent struct{ learner, workers, decoding, slots int }

// count takes a span in, or, times -1, out again.
func (b *spent) count(s Span, times int) {
	ticks := times * (s.To - s.From)
	switch {
	case s.Lane == Learner:
		b.learner += ticks
		return
	case s.Activity == Calling:
		return
	case s.Activity == Generating:
		b.decoding += ticks
		b.slots += times * s.Work
	}
	b.workers += ticks
}

// Use adds the time so far up.
func (c *Core) Use() Use {
	b, u := c.spent, Use{End: c.now}
	for _, w := range c.workers {
		switch w.state {
		case decoding:
			busy, _ := w.decodes()
			b.count(Span{Activity: Generating, From: w.from, To: c.now, Work: (c.now - w.from) * busy}, 1)
		case prefilling:
			b.count(Span{Activity: Prefilling, From: w.from, To: c.now}, 1)
		case loading:
			b.count(Span{Activity: Loading, From: c.now, To: w.until}, -1) // is in the log to its end
		}
	}
	if c.learner.busy {
		u.End = max(u.End, c.learner.until)
	}
	if c.now == 0 {
		return u
	}
	workers := float64(float64(c.now) * float64(c.config.Workers))
	slots := float64(workers * float64(c.config.Slots))
	held := float64(float64(b.decoding) * float64(c.config.Slots))
	u.IdleTrainer = 1 - float64(b.learner)/float64(u.End)
	u.IdleRollout = 1 - float64(b.workers)/workers
	u.BubbleIntra = (held - float64(b.slots)) / slots
	u.BubbleInter = (slots - held) / slots
	return u
}

// Forget drops from the log what ended before the learner first trained under the
// version of that many versions ago: a long run's log is as long as a short one's.
// Use and Counts are still of all.
func (c *Core) Forget(versions int) {
	if c.version <= versions {
		return
	}
	first := slices.IndexFunc(c.log, func(s Span) bool {
		return s.Lane == Learner && s.Activity == Training && s.Version >= c.version-versions
	})
	if first < 0 {
		return
	}
	by := c.log[first].From
	kept := c.log[:0]
	for i, s := range c.log {
		last := &c.last[s.Lane+1]
		switch newest := *last == i; {
		case s.To > by:
			if newest {
				*last = len(kept)
			}
			kept = append(kept, s)
		case newest:
			*last = -1
		}
	}
	c.log = kept
}

// Kind is what a Command asks for.
type Kind int

// Commands.
const (
	// Start brings requests into a worker: prompts, or partial responses to continue.
	Start Kind = iota
	// Decode makes steps of all requests of a worker but the named ones: a token each.
	Decode
	// Load gives a worker the weights of a version.
	Load
	// Evict takes requests out of a worker.
	Evict
	// Grade judges samples that are done.
	Grade
	// Train trains samples.
	Train
	// Publish keeps the learner's weights as a version.
	Publish
	// Stop ends the run. It comes again however often Next is called.
	Stop
)

// Command is one thing that the driver is to do. Which fields count depends on
// its kind.
type Command struct {
	Kind Kind
	// Time is when it happens on the virtual clock.
	Time int
	// Worker is the index of the worker of Start, Decode, Load and Evict.
	Worker int
	// Requests are those that Start brings in and Evict takes out; of a Decode, those
	// that stay as they are, since their tools have yet to answer.
	Requests []int
	// Origins are, for Start, the samples whose prompts the requests have: their
	// own, unless a filter had a prompt submitted again.
	Origins []int
	// Cached says, for each request of a Start, that it continues on the keys and
	// values that Evict saved; without that, its prompt and what it has are prefilled.
	Cached []bool
	// Steps is the number that Decode makes.
	Steps int
	// Version is what Load loads and Publish makes; of Start, what the worker
	// serves; of Train, the one published when it starts.
	Version int
	// Cache is, for Load, what the worker's requests continue on. For Evict it is
	// KeepStale where their keys and values go with them, Reprefill where only their
	// tokens do, and Restart where they never come back.
	Cache Cache
	// Samples are those that Train trains, and Grade judges, in order.
	Samples []int
	// Replayed are samples of earlier updates that Train trains in addition to those, in the
	// order in which they were drawn, and Weights what each counts, in parts of WeightUnit.
	Replayed, Weights []int
	// Update says that Train ends in an update of the weights; without it the
	// gradients are kept for the next.
	Update bool
	// Old is where Train takes its old log-probs.
	Old Old
	// Oldest is, for Publish, the oldest version that is still served or has
	// tokens in a sample that may be trained: older weights can go.
	Oldest int
	// Stuck says that a run stops short: nothing that is under way will ever end.
	Stuck bool
}

// Outcome is what the driver answers to a Command; nothing, for most.
type Outcome struct {
	// Prompts are the tokens of the prompt of each request of a Start; nil where
	// all are Config.Prompt.
	Prompts []int
	// Lengths are what each response of a Start will come to in all, where that
	// is known beforehand; nil where it is not: then every step is a Decode of its
	// own. Both make the same log.
	Lengths []int
	// Calls are, in addition to Lengths, the numbers of tokens after which each response of a
	// Start calls a tool; nil where none does.
	Calls [][]int
	// Finished are the requests that ended in a Decode, all in its last step.
	Finished []int
	// Called are the requests that called a tool in that step. Without costs of tools they
	// need not be given: the requests go on as if nothing had happened.
	Called []ToolCall
	// Refused are the samples of a Grade that are no use, such as a group of equal
	// rewards: they leave the count of accepted ones, and others may take their place.
	Refused []int
	// Worth says what the samples of a Grade are worth to a replay, by Worth; nil where
	// all are worth nothing.
	Worth []int
}

// ToolCall is a request that called a tool, and the tokens of the reply that it will
// have to read.
type ToolCall struct{ Request, Tokens int }
