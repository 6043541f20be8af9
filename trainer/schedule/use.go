package schedule

// Use is how much of its time a cluster worked, up to the end of the learner's
// last span.
type Use struct {
	// End is that time.
	End int
	// IdleTrainer is the share of it in which the learner waited, IdleRollout that
	// in which a worker did; Bubbles is the share of all slots' time in which they
	// decoded nothing.
	IdleTrainer, IdleRollout, Bubbles float64
}

// Used adds a log up. The workers are counted up to the learner's last begin of a
// batch: what they do meanwhile is not known yet.
func Used(log []Span, c Config) Use {
	var u Use
	begin, learner := 0, 0
	for _, s := range log {
		if s.Lane == Learner {
			learner += s.To - s.From
			u.End = max(u.End, s.To)
			if s.Activity == Scoring || s.Activity == Training {
				begin = max(begin, s.From)
			}
		}
	}
	if u.End == 0 {
		return u
	}
	busy, work := 0, 0
	for _, s := range log {
		if s.Lane == Learner || s.From >= begin {
			continue
		}
		ticks := min(s.To, begin) - s.From
		busy += ticks
		if s.Activity == Generating {
			work += s.Work * ticks / (s.To - s.From)
		}
	}
	u.IdleTrainer = 1 - float64(learner)/float64(u.End)
	if begin > 0 {
		u.IdleRollout = 1 - float64(busy)/float64(begin*c.Workers)
		u.Bubbles = 1 - float64(work)/float64(begin*c.Workers*c.Slots)
	}
	return u
}
