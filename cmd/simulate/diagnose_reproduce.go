package main

import (
	"fmt"
	"path/filepath"
	"slices"

	"driftlab/experiments/diagnose"
	"driftlab/experiments/diagnose/reproduce"
	"driftlab/results/figure"
)

// toyFile is what --reproduce writes.
const toyFile = "reproduce.yaml"

// reproduce looks for a toy run with a gap of the same cause and size, and writes its recipe.
func (c *diagnoseCmd) reproduce(a *app, r *diagnose.Report) error {
	cause, err := causeOf(r)
	if err != nil {
		return err
	}
	m := a.meter(c.Quiet, "reproduce "+cause, "dose", 0)
	started := false
	toy, err := reproduce.Search(a.ctx, reproduce.Request{Cause: cause, Size: r.Gap.MeanAbsDlogp, Workers: c.workers(), Progress: func(done, of int) {
		if !started {
			m.close()
			m, started = a.meter(c.Quiet, "reproduce "+cause, "dose", of), true
		}
		m.add(1, 0, "")
	}})
	m.close()
	if err != nil {
		return err
	}
	path := filepath.Join(c.Out, toyFile)
	if err := writeFile(filepath.Dir(path), toyFile, toy.Recipe.YAML()); err != nil {
		return err
	}
	r.Reproduced = &diagnose.Reproduced{Recipe: path, Cause: toy.Cause, Dose: toy.Dose, MeanAbsDlogp: toy.Size, K3: toy.K3, Beyond: toy.Beyond}
	return nil
}

// causeOf is what is to be reproduced: the likeliest cause, or the fault of the sampler's law.
func causeOf(r *diagnose.Report) (string, error) {
	switch {
	case r.Gap == nil || r.Gap.MeanAbsDlogp == 0:
		return "", bad("--reproduce: there is no gap to reproduce")
	case r.Verdict.State == diagnose.Repair:
		for _, k := range r.Checks {
			if k.Result == diagnose.Fail && (k.ID == "support" || k.ID == "temperature") {
				return k.ID, nil
			}
		}
		return "", bad("--reproduce: a fault of the bookkeeping is not one of a run: repair the data")
	}
	for _, cause := range r.Verdict.Causes {
		if slices.Contains(reproduce.Causes(), cause) {
			return cause, nil
		}
	}
	return "precision", nil // the one that every pair of engines has
}

// printReproduced says what was found, with both sizes.
func (a *app) printReproduced(r diagnose.Report) {
	p := r.Reproduced
	if p == nil {
		return
	}
	beyond := ""
	if p.Beyond {
		beyond = ": as near as the toy's dial of this cause comes"
	}
	n := figure.FormatNumber
	fmt.Fprintf(a.stdout, "Reproduced: %s, by %s: mean |d| %s, k3 %s (the dump: %s, %s); simulate train %s%s\n",
		p.Cause, p.Dose, n(p.MeanAbsDlogp, 2), n(p.K3, 2), n(r.Gap.MeanAbsDlogp, 2), n(r.Gap.K3, 2), p.Recipe, beyond)
}
