package reproduce

import (
	"cmp"
	"encoding/json"
	"strings"

	"driftlab/experiments/study/claims"
	"driftlab/experiments/study/claims/claim"
	"driftlab/experiments/study/judge"
	"driftlab/experiments/study/sources"
	"driftlab/results/published"
	"driftlab/results/record"
	"driftlab/results/stats"
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
	// Rates are the learning rates that the verdict is over, or at; empty where nothing trains.
	Rates  []string `json:"learning_rates"`
	Needed int      `json:"needed"`
	// Judged says it in words: over a ladder of learning rates, over some, at one, or without training. Ladder are the studies over
	// ladders that answer the claim, or a part of it.
	Judged string             `json:"judged"`
	Ladder []sources.Laddered `json:"ladder"`
	// Proxy names what stands in for what the source speaks of; empty for a direct measurement.
	Proxy string `json:"proxy"`
	// Status is "done", "quick" (judged from a smaller measurement or too few
	// replications), "partial" (some measured), "damaged" (its verdict's file is not the one
	// that was written), "published" (not measured here; the verdict is that of
	// results/published) or "not run".
	Status string `json:"status"`
	// Verdict is the one over the ladder where there is one; else that of the first seeds, undecided where new seeds or single
	// learning rates come to another.
	Verdict judge.Verdict `json:"verdict"`
	// Own is what the claim's own check came to on its first seeds, without a verdict where they were not measured; Fresh is that on new
	// ones, null where they were not.
	Own   Outcome  `json:"own"`
	Fresh *Outcome `json:"fresh"`
	// Holm is the p-value of an own check that is significant, adjusted for all claims of the list; NaN of others.
	Holm record.Number `json:"p_holm"`
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

// kept is what is read back of the verdict file; its own verdict is that of the claim's own check on the first seeds.
type kept struct {
	Outcome
	Fresh     *Outcome      `json:"fresh"`
	Confirmed judge.Verdict `json:"confirmed"`
	Size      string        `json:"size"`
	Version   int           `json:"version"`
}

func (k *kept) provisional() bool {
	return len(k.Seeds) < claim.LeastReplications || k.Size != claim.Full.String()
}

// readVerdict reads a verdict file, if it is of the claim as it is now.
func readVerdict(text []byte, c claim.Claim) (k kept, ok bool) {
	if json.Unmarshal(text, &k) != nil {
		return k, false
	}
	k.Confirmed = cmp.Or(k.Confirmed, k.Verdict) // files before 2026-11-29 have none
	return k, k.Version == c.Version
}

// List says of every claim how far it has come in a directory; an empty one
// has nothing.
func List(dir string) []Status {
	var list []Status
	for _, c := range claims.All() {
		list = append(list, statusOf(c, func(s *Status) {
			if dir != "" {
				s.here(dir, c)
			}
			if s.Status != "not run" {
				return
			}
			if k, ok := readVerdict(published.Claims()[c.ID].Verdict, c); ok {
				s.take("published", k)
			}
		}))
	}
	holm(list)
	return list
}

// statusOf is a claim with what take finds of it, and the verdict over a ladder of learning rates in the place of that at the claim's own.
func statusOf(c claim.Claim, take func(s *Status)) Status {
	s := Status{ID: c.ID, Theme: c.Theme, Title: c.Title, Source: c.Source, Sentence: c.Statement, Published: c.Figure, Proxy: c.Proxy, Ladder: sources.OverLadder(c),
		Declared: c.Declared.When, First: c.Declared.First(), Unit: c.Unit, Needed: c.Needed(), Rates: append([]string{}, c.Rates...), Status: "not run"}
	take(&s)
	l := sources.Answering(s.Ladder)
	switch {
	case l != nil:
		s.Verdict, s.Judged = l.Verdict, "over the ladder of stability/"+l.Study
	case c.Frozen:
		s.Judged = "at frozen weights"
	case len(c.Rates) > 1:
		s.Judged = "over " + strings.Join(c.Rates, ", ")
	case len(c.Rates) == 1:
		s.Judged = "at " + c.Rates[0]
	default:
		s.Judged = "without training"
	}
	return s
}

// take takes what was kept of a claim.
func (s *Status) take(status string, k kept) {
	s.Status, s.Own, s.Fresh, s.Verdict = status, k.Outcome, k.Fresh, k.Confirmed
}

// OwnCheck reports whether the verdict rests on the claim's own primary check, and not on a study over a ladder of learning rates.
func (s *Status) OwnCheck() bool { return sources.Answering(s.Ladder) == nil }

// Measured is whether the source's own subject was measured, or what stands in for it.
func (s *Status) Measured() string {
	if s.Proxy == "" {
		return "direct"
	}
	return "proxy: " + s.Proxy
}

// Sample is n in words.
func (s *Status) Sample() string { return sample(s.Own.Independent, s.Own.Replications, s.Unit) }

// MarkedVerdict is the verdict, and whether it is significant among all claims of the list.
func (s *Status) MarkedVerdict() string { return string(s.Verdict) + s.unadjusted() }

// unadjusted says that a verdict is not significant after Holm's adjustment; empty where it is, or is not that of the claim's own check.
func (s *Status) unadjusted() string {
	if s.OwnCheck() && s.Verdict == s.Own.Verdict && float64(s.Holm) > 0.05 {
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
		s.take("done", k)
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
	if d := j.decisive(); d != nil {
		o.Primary = decisive(d)
	}
	return o
}

// verdictText is the verdict file: what kept reads, and all checks with the
// value of every replication.
func verdictText(r *Result) []byte {
	type line struct {
		*Decisive
		Seeds record.Floats `json:"seeds"`
	}
	k := kept{Outcome: r.outcome(), Confirmed: r.own(), Size: r.Size.String(), Version: r.Claim.Version}
	lines := func(j *Judged) (list []line) {
		for i := range j.Evidence.Checks {
			c := &j.Evidence.Checks[i]
			list = append(list, line{decisive(c), stats.Each(c.Seeds, func(v float64) float64 { return stats.Digits(v, 6) })})
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
	if err != nil {
		panic("reproduce: the verdict of " + r.Claim.ID + ": " + err.Error()) // an empty file would be read as one
	}
	return append(text, '\n')
}
