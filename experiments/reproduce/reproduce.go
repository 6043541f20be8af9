// Package reproduce measures published claims one replication at a time, keeps what was
// measured, and writes verdicts, tables and pages from that alone.
package reproduce

import (
	"cmp"
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
	// Seeds is the number of replications, with seeds in a row from SeedBase on; 0
	// means as many as each claim needs.
	Seeds int
	// SeedBase is the first seed; 0 means 1.
	SeedBase uint64
	// Fresh measures every claim a second time, with as many seeds from FreshBase
	// on: other models, other prompts, other samples, judged by themselves.
	Fresh bool
	// Size is how much each replication measures.
	Size claim.Size
	// Dir keeps what is measured, one file per claim and seed; empty keeps it in
	// memory. What is there is not measured again.
	Dir string
	// Workers is the number of cores, which the replications share; 0 means one.
	// It changes no figure.
	Workers int
	// Progress is called after every replication, never from two goroutines at
	// once. Its units are replications, over all claims.
	Progress func(queue.Progress)
}

// FreshBase is the first seed of the second measurement. No setting of a claim
// was ever looked at with these.
const FreshBase = 1001

// Judged is what a number of replications came to.
type Judged struct {
	Seeds    []uint64
	Verdict  claim.Verdict
	Evidence claim.Evidence
}

// Result is a claim with its verdict.
type Result struct {
	Claim claim.Claim
	Size  claim.Size
	Judged
	// Fresh is the verdict of seeds never looked at before; nil where they were
	// not measured.
	Fresh *Judged
	// Recipes are the claim's training runs as recipe files, with the first
	// seed; empty for a claim that measures frozen weights.
	Recipes []string
}

// Provisional reports that there were too few replications or the size was not
// full: the verdict is a preview.
func (r *Result) Provisional() bool {
	return len(r.Seeds) < claim.LeastReplications || r.Size != claim.Full
}

// Run measures the claims and judges them. A cancelled context stops it at the
// next replication; with a directory, calling again takes it up where it was and comes
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
	cache := claim.NewCache(warm)
	out := make([]Result, len(list))
	var jobs []queue.Job[*claim.Observation]
	for i, c := range list {
		if o.Dir != "" {
			record.Sweep(claimDir(o.Dir, c, o.Size), recipesFolder)
		}
		seeds, first := o.seeds(c)
		m := &measurement{claim: c, seeds: seeds, first: first, options: &o, runs: make([]*claim.Observation, len(seeds))}
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

// measurement is a claim whose replications are being measured.
type measurement struct {
	claim   claim.Claim
	seeds   []uint64 // the fresh ones last
	first   int      // how many are not fresh
	options *Options
	left    atomic.Int64 // replications
	runs    []*claim.Observation
	recipes []string // of the first one
}

// job measures replication k. The last one of a claim judges it into out: its
// verdict need not wait for other claims.
func (m *measurement) job(k int, cache *claim.Cache, out *Result) queue.Job[*claim.Observation] {
	c, seed := m.claim, m.seeds[k]
	do := func(ctx context.Context, d *queue.Desk) (*claim.Observation, error) {
		e := &claim.Env{Seed: seed, Size: m.options.Size, Cache: cache, Cores: d.Cores,
			Progress: func(note string) { d.Report(queue.State{Note: note}) }}
		observed, kept, err := observe(ctx, c, e, m.options.Dir, k == 0)
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
		*out = Result{Claim: c, Size: m.options.Size, Judged: judge(c, m.seeds[:m.first], m.runs[:m.first]), Recipes: m.recipes}
		if m.first < len(m.seeds) {
			fresh := judge(c, m.seeds[m.first:], m.runs[m.first:])
			out.Fresh = &fresh
		}
		return observed, out.keep(m.options.Dir)
	}
	return queue.Job[*claim.Observation]{Name: fmt.Sprintf("%s, seed %d", c.ID, seed), Units: 1, Do: do}
}

// seeds are those of a claim, the fresh ones last, and how many come before them.
func (o *Options) seeds(c claim.Claim) (seeds []uint64, first int) {
	n := cmp.Or(o.Seeds, c.Needed())
	row := func(from uint64) {
		for i := range n {
			seeds = append(seeds, from+uint64(i))
		}
	}
	row(cmp.Or(o.SeedBase, 1))
	if o.Fresh {
		row(FreshBase)
	}
	return seeds, n
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
func judge(c claim.Claim, seeds []uint64, runs []*claim.Observation) Judged {
	j := claim.Judge{Seeds: seeds, Runs: runs}
	c.Judge(&j)
	return Judged{Seeds: seeds, Verdict: claim.Decide(j.Evidence.Checks), Evidence: j.Evidence}
}

// claimFolder is where everything about a claim is kept.
func claimFolder(dir string, c claim.Claim) string { return filepath.Join(dir, "claims", c.ID) }

// claimDir is where the observations of a claim are kept.
func claimDir(dir string, c claim.Claim, size claim.Size) string {
	return filepath.Join(claimFolder(dir, c), fmt.Sprintf("%s-v%d", size, c.Version))
}

func seedFile(seed uint64) string { return fmt.Sprintf("seed-%d.json", seed) }

// observe returns the observation of one seed: the one that is kept, or a new
// one, which is then kept, with the recipes of its runs if it is the first. The
// file appears whole or not at all.
func observe(ctx context.Context, c claim.Claim, e *claim.Env, dir string, first bool) (o *claim.Observation, kept bool, err error) {
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
	if first {
		if err := keepRecipes(e.Recipes(c.ID), where); err != nil {
			return nil, false, err
		}
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
