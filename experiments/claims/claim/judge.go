package claim

import (
	"fmt"

	"driftlab/results/stats"
)

// Judge collects the checks of a claim.
type Judge struct {
	// Seeds are the replications, and Runs what each measured.
	Seeds []uint64
	Runs  []*Observation
	// Evidence is what the claim's Judge function fills.
	Evidence Evidence
}

// Primary adds the check that the verdict rests on. The same question may be
// asked at two levels; a second one at the same level is a programmer's fault.
func (j *Judge) Primary(c Check) {
	for _, old := range j.Evidence.Checks {
		if old.Primary && old.Level == c.Level {
			panic(fmt.Sprintf("claim: %q is a second primary check at level %s", c.Name, c.Level))
		}
	}
	c.Primary = true
	j.Evidence.Checks = append(j.Evidence.Checks, c)
}

// Secondary adds a comparison that decides nothing.
func (j *Judge) Secondary(c Check) { j.Evidence.Checks = append(j.Evidence.Checks, c) }

// Note adds a finding.
func (j *Judge) Note(format string, args ...any) {
	j.Evidence.Notes = append(j.Evidence.Notes, fmt.Sprintf(format, args...))
}

// Column is a figure of one value, one entry per replication.
func (j *Judge) Column(name string) []float64 {
	out := make([]float64, len(j.Runs))
	for i, o := range j.Runs {
		out[i] = o.Number(name)
	}
	return out
}

// Each computes a value per replication.
func (j *Judge) Each(of func(o *Observation) float64) []float64 {
	out := make([]float64, len(j.Runs))
	for i, o := range j.Runs {
		out[i] = of(o)
	}
	return out
}

// Entry is one entry of a list, per replication.
func (j *Judge) Entry(figure string, k int) []float64 {
	return j.Each(func(o *Observation) float64 { return o.List(figure)[k] })
}

// Last is the last entry of a list, per replication.
func (j *Judge) Last(figure string) []float64 {
	return j.Each(func(o *Observation) float64 {
		v := o.List(figure)
		return v[len(v)-1]
	})
}

// Slope is that of a list over its places, per replication.
func (j *Judge) Slope(figure string) []float64 {
	return j.Each(func(o *Observation) float64 {
		y := o.List(figure)
		return stats.Slope(Counting(len(y)), y)
	})
}

// Mean is the mean over replications of a list, entry by entry.
func (j *Judge) Mean(name string) []float64 {
	sum := make([]float64, len(j.Runs[0].List(name)))
	for _, o := range j.Runs {
		for i, v := range o.List(name) {
			sum[i] += v / float64(len(j.Runs))
		}
	}
	return sum
}
