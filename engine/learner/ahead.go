package learner

import "driftlab/engine/column"

// ahead names the forward pass of a gradient that has been made before it: the one
// that scored these responses under this policy. The zero value stands for none.
type ahead struct {
	in     *column.Sampled
	policy Policy
}

// has reports whether the pass is the one that a gradient needs.
func (a ahead) has(in *column.Sampled, p Policy) bool { return a.in != nil && a == ahead{in, p} }

// ScoreAhead is Score, and the forward pass of the gradient to come. It keeps what
// the pass goes through, or the settings' Recompute's share of it, in the memory
// that the gradient would take. If a Gradient of the same responses, which must
// stay as they are, under the same policy comes before anything else moves the
// weights, the scales of the cache or the pass, it goes back from here: the first
// of a step's does, and has the same bits. Routes that the responses' own first pass
// records (R2) are replayed in a pass of their own.
func (l *Learner) ScoreAhead(dst *column.Scored, in *column.Sampled, o ScoreOptions) {
	l.publish()
	l.layOut(in, recorded(in, o.Earlier, o.Policy))
	if o.Replay == ReplayOld || l.ensureMachine() != nil { // of which Gradient will tell
		l.Score(dst, in, o)
		return
	}
	options := l.saving()
	options.KeepGates = o.KeepGates
	l.begin(in, o.Policy, o.Earlier, options)
	l.score(dst, in, o)
	l.ahead = ahead{in, o.Policy}
}
