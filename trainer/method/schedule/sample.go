package schedule

import "slices"

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

// longest is the length of its longest finished response, 0 if there is none:
// what a system knows about its length before it is done.
func (s *Sample) longest() int {
	longest := 0
	for _, r := range s.Requests {
		if r.at == finished {
			longest = max(longest, r.Made)
		}
	}
	return longest
}

// noteVersion records tokens of a version.
func (s *Sample) noteVersion(version int) {
	if s.Oldest < 0 || version < s.Oldest {
		s.Oldest = version
	}
	s.Newest = max(s.Newest, version)
}

// Request is one response on its way. Policies read it.
type Request struct {
	// ID is that of its sample times the responses per sample, plus its place there.
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
	// length is what the response will come to, -1 where nobody knows. No policy
	// sees it.
	length int
	// allowed is the number of steps until it gives its slot up, -1 for any.
	allowed int
	// calls are the numbers of tokens behind which it is known to call a tool.
	calls []int
	// calling says that a tool has yet to answer it, at the time back, with a reply of so
	// many tokens; replied are those of earlier replies.
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
