package reproduce

import (
	"encoding/json"
	"math"

	"driftlab/experiments/study/claims"
	"driftlab/experiments/study/claims/claim"
	"driftlab/experiments/study/judge"
	"driftlab/results/published"
	"driftlab/results/record"
)

// Status is a line of the list of claims.
type Status struct {
	ID     string `json:"id"`
	Theme  string `json:"theme"`
	Title  string `json:"title"`
	Source string `json:"source"`
	// Sentence is what the primary check judges, Published what the source reports.
	Sentence  string `json:"sentence"`
	Published string `json:"published"`
	// Declared says whether the primary check was declared before any result was published or
	// revised after; First is what was published with another one; null for none.
	Declared claim.When         `json:"declared"`
	First    *claim.Declaration `json:"first_version"`
	// Unit is what one replication is, Needed how many a verdict takes.
	Unit claim.Unit `json:"unit"`
	// Rates are the learning rates that the verdict is over, or at; empty where nothing trains at rates of the claim.
	Rates  []string `json:"learning_rates"`
	Needed int      `json:"needed"`
	// Status is "done", "quick" (judged from a smaller measurement or too few
	// replications), "partial" (some measured), "damaged" (its verdict's file is not the one
	// that was written), "published" (not measured here; the verdict is that of
	// results/published) or "not run".
	Status string `json:"status"`
	Outcome
	// Confirmed is the verdict where new seeds repeat it or were not measured, and else undecided.
	Confirmed judge.Verdict `json:"confirmed"`
	// Holm is the p-value of a significant verdict, adjusted for all claims of the list; NaN of others.
	Holm record.Number `json:"p_holm"`
	// Fresh is what new seeds came to; null where they were not measured.
	Fresh *Outcome `json:"fresh"`
}

// Outcome is what a number of replications came to; without a verdict it is empty.
type Outcome struct {
	Verdict judge.Verdict `json:"verdict"`
	// Replications is how many there were, Independent how many warm starts they had, where they
	// share them, and Seeds which.
	Replications int      `json:"replications"`
	Independent  int      `json:"independent"`
	Seeds        []uint64 `json:"seeds"`
	// Primary is the check that the verdict rests on.
	Primary *Decisive `json:"primary_check"`
}

// Decisive is a check as the verdict file has it. Its numbers may be infinite or
// NaN, as ratios to an empty tail are.
type Decisive struct {
	Name  string      `json:"name"`
	Level judge.Level `json:"dose"`
	Needs string      `json:"needs"`
	// Ours is the statistic with its 95 % interval.
	Ours record.Floats `json:"estimate_low_high"`
	// P is the p-value against the threshold, the smallest effect that this many
	// replications detect with 80 % power, and how many detect the one measured.
	P       record.Floats `json:"p_smallest_enough"`
	Outcome judge.Mark    `json:"outcome"`
}

// kept is what is read back of the verdict file.
type kept struct {
	Outcome
	Fresh   *Outcome `json:"fresh"`
	Size    string   `json:"size"`
	Version int      `json:"version"`
}

func (k *kept) provisional() bool {
	return len(k.Seeds) < claim.LeastReplications || k.Size != claim.Full.String()
}

// readVerdict reads a verdict file, if it is of the claim as it is now.
func readVerdict(text []byte, c claim.Claim) (k kept, ok bool) {
	if json.Unmarshal(text, &k) != nil {
		return k, false
	}
	return k, k.Version == c.Version
}

// List says of every claim how far it has come in a directory; an empty one
// has nothing.
func List(dir string) []Status {
	var list []Status
	for _, c := range claims.All() {
		s := Status{ID: c.ID, Theme: c.Theme, Title: c.Title, Source: c.Source, Sentence: c.Statement, Published: c.Figure,
			Declared: c.Declared.When, First: c.Declared.First(), Unit: c.Unit, Needed: c.Needed(), Rates: append([]string{}, c.Rates...), Status: "not run"}
		if dir != "" {
			s.here(dir, c)
		}
		if s.Status == "not run" {
			if k, ok := readVerdict(published.Claims()[c.ID].Verdict, c); ok {
				s.Status, s.Outcome, s.Fresh = "published", k.Outcome, k.Fresh
			}
		}
		list = append(list, s)
	}
	adjusted := holm(len(list), func(i int) (float64, judge.Mark) {
		if p := list[i].Primary; p != nil {
			return p.P[0], p.Outcome
		}
		return math.NaN(), judge.Open
	})
	for i := range list {
		s := &list[i]
		s.Holm, s.Confirmed = record.Number(adjusted[i]), s.Verdict
		if s.Fresh != nil {
			s.Confirmed = s.Verdict.Confirmed(s.Fresh.Verdict)
		}
	}
	return list
}

// Sample is n in words.
func (s *Status) Sample() string { return sample(s.Independent, s.Replications, s.Unit) }

// MarkedVerdict is the verdict, and whether it is significant among all claims.
func (s *Status) MarkedVerdict() string { return string(s.Confirmed) + s.unadjusted() }

// unadjusted says that a verdict is not significant after Holm's adjustment; empty where it is, or is not one that new seeds repeat.
func (s *Status) unadjusted() string {
	if s.Confirmed == s.Verdict && float64(s.Holm) > 0.05 {
		return ", not after Holm"
	}
	return ""
}

// here says how far a claim has come in a directory.
func (s *Status) here(dir string, c claim.Claim) {
	f, err := openFolder(dir, c, claim.Full)
	var k kept
	ok := false
	if err == nil {
		k, ok, err = f.verdict()
	}
	switch {
	case err != nil:
		s.Status = "damaged"
	case ok:
		s.Status, s.Outcome, s.Fresh = "done", k.Outcome, k.Fresh
		if k.provisional() {
			s.Status = "quick"
		}
	case record.HasCells(f.Dir):
		s.Status = "partial"
	}
}

// decisive is a check as the verdict file has it.
func decisive(c *judge.Check) *Decisive {
	return &Decisive{c.Name, c.Level, c.Needs, record.Floats{c.Value.Estimate, c.Value.Low, c.Value.High},
		record.Floats{c.P, c.Power.Smallest, float64(c.Power.Enough)}, c.Outcome}
}

// outcome is what the verdict file says of a judgement.
func (j *Judged) outcome() Outcome {
	o := Outcome{Verdict: j.Verdict, Replications: len(j.Seeds), Independent: j.Independent, Seeds: j.Seeds}
	if d := j.Verdict.Decisive(j.Evidence.Checks); d != nil {
		o.Primary = decisive(d)
	}
	return o
}

// verdictText is the verdict file: what kept reads, and all checks with the
// value of every replication.
func verdictText(r *Result) ([]byte, error) {
	type line struct {
		*Decisive
		Seeds record.Floats `json:"seeds"`
	}
	k := kept{Outcome: r.outcome(), Size: r.Size.String(), Version: r.Claim.Version}
	lines := func(j *Judged) (list []line) {
		for i := range j.Evidence.Checks {
			c := &j.Evidence.Checks[i]
			list = append(list, line{decisive(c), c.Seeds})
		}
		return list
	}
	var fresh []line
	if r.Fresh != nil {
		o := r.Fresh.outcome()
		k.Fresh, fresh = &o, lines(r.Fresh)
	}
	text, err := json.Marshal(struct {
		kept
		Checks []line `json:"checks"`
		Again  []line `json:"fresh_checks"`
	}{k, lines(&r.Judged), fresh})
	return append(text, '\n'), err
}
