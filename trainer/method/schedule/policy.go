package schedule

// Policy is one published system's rule: how much may be in flight, what becomes
// of running work when weights are published, and what the learner trains next.
// It has no memory: what it knows it is given in a View, so that a run that was
// killed goes on from the state of the Core alone.
type Policy interface {
	// Traits are its properties that follow from its parameters alone.
	Traits() Traits
	// Admit is the number of samples that may be submitted now. Once they are, it
	// is 0, or less, until something happens: how often it is asked changes nothing.
	Admit(v View) int
}

// batcher is a Policy with a rule of its own for what the learner trains now, nil to
// wait. It is asked when the learner is idle.
type batcher interface{ Batch(v View) []*Sample }

// filter is a Policy that refuses samples: those that are done before each
// batch, and all of them, also those in flight, whenever weights are published.
type filter interface {
	Verdict(v View, s *Sample) Fate
}

// placer is a Policy that chooses workers itself, and moves running requests. It
// is asked while requests wait for a slot and when weights are published.
type placer interface{ Place(v View) []Move }

// Reload is what a worker does with its running requests when weights are published.
type Reload int

// Reloads.
const (
	// Drain takes nothing new and loads when empty.
	Drain Reload = iota
	// Interrupt stops, loads and continues with the new weights.
	Interrupt
	// Pin keeps its version, and may take more requests of it, until it is empty.
	Pin
)

// Cache is what becomes of the keys and values of interrupted requests.
type Cache int

// Caches.
const (
	// Reprefill computes them again with the new weights: AReaL.
	Reprefill Cache = iota
	// KeepStale continues on those of the old weights: SkyRL's default.
	KeepStale
	// Restart throws the partial response away.
	Restart
)

// Fate is what a policy does with a sample.
type Fate int

// Fates.
const (
	Take Fate = iota
	// Drop removes it: its tokens are waste.
	Drop
	// Requeue submits its prompt again: its tokens are waste, too.
	Requeue
)

// Move puts a request on a worker: a waiting one into a free slot, a running one
// from its worker to another.
type Move struct {
	Request *Request
	// Worker is the index of the one it goes to.
	Worker int
	// Steps is the number after which it gives its slot up and waits again; 0 for none.
	Steps int
}

// Unbounded is the Bound of a system that promises none.
const Unbounded = -1

// Traits are the properties of a system that the Core acts on.
type Traits struct {
	// Bound is the hard bound on the lag of every trained sample that the system
	// promises, in versions.
	Bound int
	// Reload is what a worker does when new weights reach it.
	Reload Reload
	// Old says where its old log-probs come from; BatchStart if it does not. Config.Old
	// may say otherwise.
	Old Old
	// InOrder systems take a batch in the order of submission; others in the order in
	// which samples end.
	InOrder bool
	// Stream, above 0, hands samples to the learner as they end, at least that many at a
	// time; gradients add up, and an update follows when a batch of them is trained.
	Stream int
	// Interval is the number of updates from one publication to the next, 0 for one.
	Interval int
	// Waits says that a publication that is due waits until nothing runs, and the next
	// batch for the publication.
	Waits bool
	// Colocated systems generate and train in turns on the same devices: a batch
	// suspends whatever is running until the learner is through.
	Colocated bool
	// Cache is what interrupted requests continue on.
	Cache Cache
	// Behind is how many versions the served weights are behind the published ones.
	Behind int
	// Extra is the number of responses per sample beyond a group's size; the
	// first to finish are kept, the late ones evicted.
	Extra int
	// Quota is the number of tokens a response may decode per version; 0 for any.
	Quota int
	// Yield is the number of tokens per thousand decode steps, 0 for a thousand:
	// more with a drafter.
	Yield int
	// Service is the ticks that a controller takes per trained sample.
	Service int
	// Hop is the ticks that weights take from one worker to the next of a chain.
	Hop int
	// Every is the ticks after which a policy with a rule for places is asked again; 0 for never.
	Every int
}

// boundOfCount is the bound per sample of a rule about the count of samples that run
// ahead: none, or 0 where none may.
func boundOfCount(ahead int) int {
	if ahead > 0 {
		return Unbounded
	}
	return 0
}

// Continues says on which keys and values a system's running responses go on
// under weights that are not their own; -1 for a system that lets them end under
// those that they began with. What a quota stops goes on like what is interrupted.
func Continues(p Policy) Cache {
	t := p.Traits()
	if t.Quota == 0 && t.Reload != Interrupt {
		return -1
	}
	return t.Cache
}
