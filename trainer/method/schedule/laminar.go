package schedule

import (
	"slices"

	"driftlab/trainer/method"
)

// Laminar lets every worker pull weights on its own, when it is empty, and packs
// stragglers together so that workers become empty sooner: every 5 s and after each update.
// No bound is configured; the published staleness is mostly below 3, at most 4.
type Laminar struct {
	// Every is the ticks from one repacking to the next.
	Every int `yaml:"every" default:"5000000" range:"[1,1000000000]"`
	// Hop is the ticks from one relay of the chain to the next.
	Hop int `yaml:"hop" default:"1000" range:"[0,1000000000]"`
	// Roofline is the most requests a worker is packed with; 0 for its slots.
	Roofline int `yaml:"roofline" range:"[0,2^20]"`
	// Cache is the most tokens a worker is packed with; 0 for any number.
	Cache int `yaml:"cache" range:"[0,1000000000]"`
}

// Traits implements Policy.
func (p *Laminar) Traits() Traits {
	return Traits{Every: p.Every, Hop: p.Hop, Old: Rollout, Bound: Unbounded}
}

// Admit keeps all slots busy, unless two batches wait.
func (*Laminar) Admit(v View) int {
	return min(v.capacity()-v.Running, v.capacity()+2*v.Batch-v.Running-len(v.Done))
}

// Place frees what workers it can, then gives waiting requests to the emptiest.
func (p *Laminar) Place(v View) []Move {
	pl := newPlan(v)
	roofline := p.Roofline
	if roofline == 0 {
		roofline = v.SlotsEach
	}
	fits := func(w *Worker) bool {
		return w.Stale() && pl.load(w) < roofline && (p.Cache == 0 || w.Tokens(v.Now) < p.Cache)
	}
	if v.Due || v.Published {
		for _, w := range past(v) {
			if pl.load(w) == len(w.Active) { // nothing has come to it meanwhile
				pl.vacate(w, fits)
			}
		}
	}
	return pl.queue()
}

// past are the workers past their peak: they take nothing new and are at most half
// full; the emptiest first.
func past(v View) []*Worker {
	var workers []*Worker
	for _, w := range v.Workers {
		if w.Stale() && len(w.Active) > 0 && w.Load() == len(w.Active) && 2*len(w.Active) <= v.SlotsEach {
			workers = append(workers, w)
		}
	}
	slices.SortStableFunc(workers, func(a, b *Worker) int {
		if d := len(a.Active) - len(b.Active); d != 0 {
			return d
		}
		return b.oldest() - a.oldest()
	})
	return workers
}

var laminarSpec = method.Spec{
	Name: "laminar", Aliases: []string{"relay"},
	Does:           "Lets each worker load the newest weights when it is empty, and moves long requests together so that workers become empty sooner.",
	When:           "Use it to study workers with different versions and no global synchronisation; no staleness limit is configured.",
	Source:         "Laminar, arXiv:2510.12633",
	Formula:        "a worker pulls when empty; every 5 s, per version: requests of nearly empty workers are packed onto others",
	Reconstruction: "Past its peak is a draining worker at most half full; the buffer holds two batches, first in first out; both are inferred.",
}
