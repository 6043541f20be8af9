package schedule

import (
	"cmp"
	"slices"

	"driftlab/results/stats"
)

// Sample is a prompt group: the responses to one prompt, done when its slowest
// is. Policies read it.
type Sample struct {
	// ID counts the samples in the order of their submission, from 0.
	ID int
	// Origin is the ID of the sample whose prompt it has: its own, unless that was
	// submitted again.
	Origin int
	// Version and Step are the published version and the number of updates when
	// it was submitted.
	Version, Step int
	// Submitted is the time it was submitted, Ended that of its last response.
	Submitted, Ended int
	// Oldest and Newest are the versions of its tokens, those of the weights that
	// serve it included, -1 before its start.
	Oldest, Newest int
	// Prompt is the tokens of its prompt.
	Prompt int
	// Tokens is the number in its finished responses.
	Tokens int
	// Left is the number of responses that it waits for.
	Left int
	// Worth is what a Grade said of it, Uses how often it was trained.
	Worth, Uses int
	// Requests are its responses, by ID.
	Requests []*Request

	taken bool // by the learner
}

// Done reports whether all its responses are there.
func (s *Sample) Done() bool { return s.Left == 0 }

// Lag is how many versions its oldest token is behind the given one.
func (s *Sample) Lag(version int) int {
	if s.Oldest < 0 {
		return 0
	}
	return version - s.Oldest
}

func (s *Sample) noteVersion(version int) {
	if s.Oldest < 0 || version < s.Oldest {
		s.Oldest = version
	}
	s.Newest = max(s.Newest, version)
}

// Request is one response on its way. Policies read it.
type Request struct {
	// ID is the ID of its sample times the responses per sample, plus its place there.
	ID     int
	Sample *Sample
	// Made is the number of tokens decoded so far.
	Made int
	// Pieces are the versions of these tokens, in order; those of the weights that it
	// runs on are added when it stops doing so.
	Pieces []Piece
	// Worker is the index of the worker that has it, -1 for none.
	Worker int

	at place
	// pieced is the number of tokens in Pieces.
	pieced int
	// length is what the response will come to, -1 where it is unknown. No policy
	// sees it.
	length int
	// allowed is the number of steps until it gives its slot up, -1 for any.
	allowed int
	// calls are the numbers of tokens after which it is known to call a tool.
	calls []int
	// calling says that a tool has yet to answer it, at the time back, with a number of
	// tokens, reply; replied are the tokens of earlier replies.
	calling              bool
	back, reply, replied int
	// cached says that its keys and values travel with it.
	cached bool
	// to is the worker that it moves to at the end of the step, -1 for none.
	to int
	// then is where it goes while it leaves a worker.
	then place
}

// Piece is a run of tokens of one version.
type Piece struct{ Version, Tokens int }

// Prefix is what a worker has to prefill for it.
func (r *Request) Prefix() int { return r.Sample.Prompt + r.Made + r.replied }

// place is where a request is.
type place int

const (
	waiting place = iota // for a slot
	joining              // for the end of a worker's step
	active
	leaving // at the end of the step
	parked  // until the next version: its quota is used up
	finished
	gone // evicted for good
)

// close writes down the tokens that were made since the last piece, of a version.
func (r *Request) close(version int) {
	n, last := r.Made-r.pieced, len(r.Pieces)-1
	r.pieced = r.Made
	switch {
	case n == 0:
	case last >= 0 && r.Pieces[last].Version == version:
		r.Pieces[last].Tokens += n
	default:
		r.Pieces = append(r.Pieces, Piece{version, n})
	}
}

// next is the number of steps after which something is known to happen to it.
func (r *Request) next() int {
	n := 1
	if r.length >= 0 {
		n = r.length - r.Made
	}
	if r.allowed >= 0 {
		n = min(n, r.allowed)
	}
	if i, _ := slices.BinarySearch(r.calls, r.Made+1); i < len(r.calls) {
		n = min(n, r.calls[i]-r.Made)
	}
	return n
}

// Activity is what a device spent time on.
type Activity int

// Activities. What is in no span was waiting.
const (
	Generating Activity = iota
	Prefilling
	Loading
	Scoring
	Training
	Pushing
	// Calling is a worker whose requests all wait for tools.
	Calling
)

// String names it.
func (a Activity) String() string {
	return [...]string{"generating", "prefilling", "loading", "scoring", "training", "pushing", "calling"}[a]
}

// Learner is the lane of the learner in the log; workers have their indices.
const Learner = -1

// Span is a stretch of the timeline.
type Span struct {
	// Lane is the worker's index, or Learner.
	Lane     int
	Activity Activity
	From, To int
	// Version is the version of the weights a worker served, and of the published
	// weights when the learner began.
	Version int
	// Work is, while generating, the sum of the busy slots over the ticks.
	Work int
}

// spend adds a span to the log. What continues the lane's last one makes that longer.
func (c *Core) spend(s Span) {
	if s.From == s.To {
		return
	}
	c.spent.count(s, 1)
	last := &c.last[s.Lane+1]
	if *last >= 0 {
		p := &c.log[*last]
		if p.Activity == s.Activity && p.Version == s.Version && p.To == s.From && s.Activity == Generating {
			p.To = s.To
			p.Work += s.Work
			return
		}
	}
	*last = len(c.log)
	c.log = append(c.log, s)
}

// Counts are sums over a run so far.
type Counts struct {
	// Samples that were submitted, trained, and dropped by a filter or refused;
	// and those whose prompt was submitted again.
	Submitted, Trained, Dropped, Requeued int
	// Tokens that were decoded, that were trained, and that were thrown away; and
	// those of prefixes that were prefilled again. What is in none of the first
	// three is still on its way.
	DecodedTokens, TrainedTokens, WastedTokens, ReprefilledTokens int
	// PromptTokens are the tokens of trained prompts, once per response.
	PromptTokens int
	// Responses that were trained, and those of them with tokens of several versions.
	Responses, Mixed int
	// Calls are the calls of tools, ToolTokens the tokens of the replies, WaitedTicks the
	// ticks that requests spent in slots for them: none where a reply costs nothing.
	Calls, ToolTokens, WaitedTicks int
	// Interrupts is the number of running responses that new weights stopped.
	Interrupts int
	// Copies is the most copies of the weights that were kept at once in addition to the
	// learner's and one in each worker.
	Copies int
	// Span is the largest difference of versions within a trained sample.
	Span int
	// Samples that were trained again, and their tokens; none of them is in the counts
	// above, which are of fresh ones.
	Replayed, ReplayedTokens int
	// Lags counts the trained samples by lag, TokenLags their tokens.
	Lags, TokenLags []int
}

func count(histogram []int, at, n int) []int {
	for len(histogram) <= at {
		histogram = append(histogram, 0)
	}
	histogram[at] += n
	return histogram
}

// View is what a Policy is given. The slices are the Core's own: a policy reads
// them and keeps nothing.
type View struct {
	// Now is the virtual time, in ticks.
	Now int
	// Version is the version of the published weights, 0 at first; Step is the number of
	// updates made, Unpublished those of them that are not published yet.
	Version, Step, Unpublished int
	// Batch is the number of samples per update, Group the responses per sample.
	Batch, Group int
	// Submitted is the number of samples ever submitted; Running those that are
	// not done; Accepted those that were ever finished and not refused.
	Submitted, Running, Accepted int
	// Taken is the number of samples ever trained or refused; TrainedBefore those that
	// were trained by the last publication.
	Taken, TrainedBefore int
	// Idle says that the learner has nothing to do.
	Idle bool
	// Accumulated is the number of samples whose gradients wait for an update.
	Accumulated int
	// Active is the number of requests that decode, or will without a new version.
	Active int
	// Slots is the number of requests that all workers can serve at once,
	// SlotsEach that of one.
	Slots, SlotsEach int
	// Done are the samples that wait for the learner, in the order of their end.
	Done []*Sample
	// Flight are those that are not done, by ID.
	Flight []*Sample
	// Queue are the requests that wait for a slot, the first to be served first.
	Queue []*Request
	// Workers are all workers, by index.
	Workers []*Worker
	// Published says that weights were published at this very time.
	Published bool
	// Due says that the ticks of Traits.Every have gone by.
	Due bool
}

// capacity is the number of whole samples that the slots can hold.
func (v View) capacity() int { return max(1, v.Slots/v.Group) }

// kept is the number of samples ever submitted and not refused.
func (v View) kept() int { return v.Accepted + v.Running }

// ahead is the admission rule of every system that counts: that many samples may be kept, running or
// done, in addition to those that the updates so far and the next one take. It bounds the mean lag by
// samples/Batch and, unless the order of consumption does, no single one.
func (v View) ahead(samples, updates int) int { return samples + (updates+1)*v.Batch - v.kept() }

// free is what a pool of that many samples leaves. With single slots, each response frees its own place when it
// ends, and a sample enters when a group's worth of places is free; without, a sample keeps all of its
// places until its last response ends.
func (v View) free(pool int, singleSlots bool) int {
	if singleSlots {
		return (pool*v.Group - v.Active) / v.Group
	}
	return pool - v.Running
}

func byID(samples []*Sample) []*Sample {
	return slices.SortedFunc(slices.Values(samples), func(a, b *Sample) int { return cmp.Compare(a.ID, b.ID) })
}

// batchFirst is a batch in the order of their end, as soon as it is there.
func batchFirst(v View) []*Sample {
	if len(v.Done) < v.Batch {
		return nil
	}
	return byID(v.Done[:v.Batch])
}

// batchWhole is a batch by ID, when all of it is done.
func batchWhole(v View) []*Sample {
	if len(v.Done) < v.Batch {
		return nil
	}
	return byID(v.Done)[:v.Batch]
}

// batchWithin is the oldest batch, if none of it is further than a window from the oldest sample that still
// runs: taking a younger one does not move the window. A window of 1 is the order of submission.
func batchWithin(v View, window int) []*Sample {
	batch := batchWhole(v)
	if batch == nil || len(v.Flight) > 0 && batch[v.Batch-1].ID >= v.Flight[0].ID+window {
		return nil
	}
	return batch
}

// batchStreamed is what is done of a batch, at least micro samples of what is missing.
func batchStreamed(v View, micro int) []*Sample {
	missing := v.Batch - v.Accumulated
	k := min(len(v.Done), missing)
	if k < min(micro, missing) {
		return nil
	}
	return byID(v.Done[:k])
}

// Samples are the numbers of those that are in flight or wait for the learner, in
// order: a driver can forget the others.
func (c *Core) Samples() []int {
	return stats.Map(c.known(), func(s *Sample) int { return s.ID })
}
