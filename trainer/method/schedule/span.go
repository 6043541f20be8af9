package schedule

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
	// Version is that of the weights a worker served, and of the published
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
	// PromptTokens are those of trained prompts, once per response.
	PromptTokens int
	// Responses that were trained, and those of them with tokens of several versions.
	Responses, Mixed int
	// Calls are those of tools, ToolTokens the tokens of the replies, WaitedTicks the
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

// count adds n to the entry of a histogram.
func count(histogram []int, at, n int) []int {
	for len(histogram) <= at {
		histogram = append(histogram, 0)
	}
	histogram[at] += n
	return histogram
}
