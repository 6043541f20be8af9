package schedule

// Kind is what a Command asks for, or what a Span was spent on.
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
	// Calls are, in addition to Lengths, the numbers of tokens behind which each response of a
	// Start calls a tool; nil where none does.
	Calls [][]int
	// Finished are the requests that ended in a Decode, all in its last step.
	Finished []int
	// Called are those that called a tool in that step. Without costs of tools nobody
	// needs to know: they go on as if nothing had happened.
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
