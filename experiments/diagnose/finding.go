package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"driftlab/experiments/diagnose/reader"
)

// Topic is what a finding is about.
type Topic string

// The topics.
const (
	Data          Topic = "data"
	Mismatch      Topic = "mismatch"
	Learning      Topic = "learning"
	Configuration Topic = "configuration"
)

// Level is how grave a finding is.
type Level string

// The levels, the gravest first.
const (
	Fault     Level = "fault"
	Warning   Level = "warning"
	Undecided Level = "unknown"
	Note      Level = "note"
)

// levels are in the order of their gravity.
var levels = []Level{Fault, Warning, Undecided, Note}

// Finding is one statement of the report.
type Finding struct {
	ID    string `json:"id"`
	Topic Topic  `json:"topic"`
	Level Level  `json:"level"`
	Text  string `json:"text"`
	Next  string `json:"next,omitempty"`
	Where string `json:"where,omitempty"`
}

// String is the finding as a sentence without its stop.
func (f Finding) String() string {
	if f.Where == "" {
		return f.Text
	}
	return f.Text + " (" + f.Where + ")"
}

// collector sees every row of a dump once, in bounded memory. At the end it says what it has found, and which columns it
// looks at.
type collector interface {
	add(r *reader.Row)
	findings(o *Options) ([]Finding, []looked)
}

// looked is a column, or a question, and whether the dump has what it takes.
type looked struct {
	at    string
	there bool
}

func newCollectors() []collector {
	return []collector{&answers{}, &movedTokens{}, &referenceKL{}, &ownMask{}, &sureness{}, &gapGrowth{}}
}

// collect takes the findings of the collectors in, and says what of the dump they looked at.
func (r *Report) collect(list []collector, o *Options) (at []string) {
	r.Unchecked = []string{}
	for _, c := range list {
		found, columns := c.findings(o)
		r.Findings = append(r.Findings, found...)
		for _, x := range columns {
			if x.there {
				at = append(at, x.at)
			} else {
				r.Unchecked = append(r.Unchecked, x.at)
			}
		}
	}
	return at
}

// about are the findings on one of the topics of a level, or of all levels up to it.
func (r *Report) about(least Level, topics ...Topic) (list []Finding) {
	for _, f := range r.Findings {
		if slices.Contains(topics, f.Topic) && slices.Index(levels, f.Level) <= slices.Index(levels, least) {
			list = append(list, f)
		}
	}
	return list
}

// conclude orders the findings and makes the verdict's two lines of them.
func (r *Report) conclude(at []string) {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return slices.Index(levels, a.Level) - slices.Index(levels, b.Level) })
	v := &r.Verdict
	v.LogProbs = strings.Replace(v.Summary, notProved, "", 1)
	sound := v.State == Healthy || v.State == Genuine || v.State == Inactive
	for _, f := range r.about(Warning, Data, Mismatch) {
		if f.Level == Fault && sound {
			v.LogProbs, v.Next = capital(f.String())+"; the figures below contain it.", f.Next
			sound = false
		} else if f.Level == Warning && f.ID != unevenGap && !(f.ID == "gap-grows" && strings.Contains(v.Summary, "gap grows")) {
			v.LogProbs += " " + capital(f.String()) + "."
			break
		}
	}
	for _, f := range r.Findings {
		if f.ID == unevenGap {
			v.LogProbs = capital(f.String()) + ". " + v.LogProbs // where it lies comes first
		}
	}
	against := r.about(Warning, Learning, Configuration)
	switch {
	case len(against) > 0:
		v.Learning, v.LearningState = capital(against[0].String())+".", against[0].Level
		if against[0].Next != "" && (v.State == Healthy || against[0].Level == Fault && v.State != Repair) {
			v.Next = against[0].Next
		}
		if more := len(against) - 1; more > 0 {
			v.Learning += fmt.Sprintf(" %s more below.", count(more, "finding"))
		}
		if v.State == Healthy && against[0].Level == Fault {
			v.State = CannotLearn
		}
	case len(at) == 0:
		v.Learning, v.LearningState = "Not judged: the dump has no rewards, advantages or other columns of the update.", Undecided
	default:
		v.Learning, v.LearningState = "No fault found in what was looked at: "+strings.Join(at, ", ")+".", Note
	}
}
