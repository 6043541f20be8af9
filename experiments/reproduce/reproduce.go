// Package reproduce measures published claims seed by seed, keeps what was
// measured, and writes verdicts, tables and pages from that alone.
package reproduce

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"driftlab/experiments/claim"
	"driftlab/experiments/claims"
	"driftlab/experiments/queue"
	"driftlab/results/record"
	"driftlab/trainer/method"
)

// Options are the choices of a reproduction.
type Options struct {
	// Claims are the ids to run, in this order; nil means all.
	Claims []string
	// Seeds is the number of seeds in a row from SeedBase on; 0 means five.
	Seeds int
	// SeedBase is the first seed; 0 means 1.
	SeedBase uint64
	// Size is how much each seed measures.
	Size claim.Size
	// Dir keeps what is measured, one file per claim and seed; empty keeps it in
	// memory. What is there is not measured again.
	Dir string
	// Workers is the number of cores, which the seeds share; 0 means one. It
	// changes no figure.
	Workers int
	// Progress is called after every seed, never from two goroutines at once. Its
	// units are seeds, over all claims.
	Progress func(queue.Progress)
}

// Result is a claim with its verdict.
type Result struct {
	Claim    claim.Claim
	Seeds    []uint64
	Size     claim.Size
	Verdict  claim.Verdict
	Evidence claim.Evidence
	// Recipes are the claim's training runs as recipe files, with seed 1; empty
	// for a claim that measures frozen weights.
	Recipes []string
}

// Provisional reports that there were fewer than five seeds or the size was
// not full: the verdict is a preview.
func (r *Result) Provisional() bool { return len(r.Seeds) < claim.LeastSeeds || r.Size != claim.Full }

// Run measures the claims and judges them. A cancelled context stops it at the
// next seed; with a directory, calling again takes it up where it was and comes
// to the same figures.
func Run(ctx context.Context, o Options) ([]Result, error) {
	list, err := chosen(o.Claims)
	if err != nil {
		return nil, err
	}
	warm := o.Dir
	if warm == "" {
		if warm, err = os.MkdirTemp("", "simulate-reproduce-"); err != nil {
			return nil, err
		}
		defer os.RemoveAll(warm)
	}
	cache, seeds := claim.NewCache(warm), o.seeds()
	out := make([]Result, len(list))
	var jobs []queue.Job[*claim.Observation]
	for i, c := range list {
		if o.Dir != "" {
			record.Sweep(claimDir(o.Dir, c, o.Size), recipesFolder)
		}
		m := &measurement{claim: c, seeds: seeds, options: &o, runs: make([]*claim.Observation, len(seeds))}
		m.left.Store(int64(len(seeds)))
		for k := range seeds {
			jobs = append(jobs, m.job(k, cache, &out[i]))
		}
	}
	if _, err := (queue.Queue[*claim.Observation]{Cores: o.Workers, Progress: o.Progress}).Run(ctx, jobs); err != nil {
		return nil, err
	}
	return out, nil
}

// measurement is a claim whose seeds are being measured.
type measurement struct {
	claim   claim.Claim
	seeds   []uint64
	options *Options
	left    atomic.Int64 // seeds
	runs    []*claim.Observation
	recipes []string // of the first seed
}

// job measures seed k. The last seed of a claim judges it into out: its verdict
// need not wait for other claims.
func (m *measurement) job(k int, cache *claim.Cache, out *Result) queue.Job[*claim.Observation] {
	c, seed := m.claim, m.seeds[k]
	do := func(ctx context.Context, d *queue.Desk) (*claim.Observation, error) {
		e := &claim.Env{Seed: seed, Size: m.options.Size, Cache: cache, Cores: d.Cores}
		observed, kept, err := observe(ctx, c, e, m.options.Dir)
		if err != nil {
			return nil, err
		}
		m.runs[k] = observed
		if k == 0 {
			m.recipes = e.Recipes(c.ID)
		}
		if kept {
			d.Report(queue.State{Done: 1, Kept: 1})
		}
		if m.left.Add(-1) > 0 {
			return observed, nil
		}
		*out = judge(c, m.seeds, m.runs, m.options.Size)
		out.Recipes = m.recipes
		return observed, out.keep(m.options.Dir)
	}
	return queue.Job[*claim.Observation]{Name: fmt.Sprintf("%s, seed %d", c.ID, seed), Units: 1, Do: do}
}

func (o *Options) seeds() []uint64 {
	n, first := o.Seeds, o.SeedBase
	if n == 0 {
		n = claim.LeastSeeds
	}
	if first == 0 {
		first = 1
	}
	seeds := make([]uint64, n)
	for i := range seeds {
		seeds[i] = first + uint64(i)
	}
	return seeds
}

// chosen looks the ids up, each once; an unknown one is answered with the nearest.
func chosen(ids []string) ([]claim.Claim, error) {
	if len(ids) == 0 {
		return claims.All(), nil
	}
	var list []claim.Claim
	for i, id := range ids {
		c, ok := claims.Lookup(id)
		if !ok {
			return nil, method.UnknownName(id, claims.IDs())
		}
		if slices.Contains(ids[:i], id) {
			continue
		}
		list = append(list, c)
	}
	return list, nil
}

// judge computes checks and verdict from the observations.
func judge(c claim.Claim, seeds []uint64, runs []*claim.Observation, size claim.Size) Result {
	j := claim.Judge{Seeds: seeds, Runs: runs}
	c.Judge(&j)
	return Result{Claim: c, Seeds: seeds, Size: size, Verdict: claim.Decide(j.Evidence.Checks, len(seeds)), Evidence: j.Evidence}
}

// claimFolder is where everything about a claim is kept.
func claimFolder(dir string, c claim.Claim) string { return filepath.Join(dir, "claims", c.ID) }

// claimDir is where the observations of a claim are kept.
func claimDir(dir string, c claim.Claim, size claim.Size) string {
	return filepath.Join(claimFolder(dir, c), fmt.Sprintf("%s-v%d", size, c.Version))
}

func seedFile(seed uint64) string { return fmt.Sprintf("seed-%d.json", seed) }

// observe returns the observation of one seed: the one that is kept, or a new
// one, which is then kept. The file appears whole or not at all.
func observe(ctx context.Context, c claim.Claim, e *claim.Env, dir string) (o *claim.Observation, kept bool, err error) {
	where := claimDir(dir, c, e.Size)
	if dir != "" {
		if o, kept, err = keptObservation(where, e.Seed); kept || err != nil {
			return o, kept, err
		}
	}
	if o, err = c.Measure(ctx, e); err != nil || dir == "" {
		return o, false, err
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil, false, err
	}
	if err := os.MkdirAll(where, 0o777); err != nil {
		return nil, false, err
	}
	if err := keepRecipes(e.Recipes(c.ID), where); err != nil {
		return nil, false, err
	}
	return o, false, record.WriteFile(where, seedFile(e.Seed), append(text, '\n'))
}

// keptObservation reads the observation of a seed, if it is there.
func keptObservation(claimDir string, seed uint64) (o *claim.Observation, there bool, err error) {
	path := filepath.Join(claimDir, seedFile(seed))
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	o = new(claim.Observation)
	if err := json.Unmarshal(text, o); err != nil {
		return nil, false, &record.FolderError{Path: path, Problem: "not an observation", Remedy: "delete the file to measure it again", Err: err}
	}
	return o, true, nil
}
