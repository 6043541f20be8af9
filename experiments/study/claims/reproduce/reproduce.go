// Package reproduce measures published claims one replication at a time, keeps what was
// measured, and writes verdicts, tables and pages from that alone.
package reproduce

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"driftlab/experiments/study"
	"driftlab/experiments/study/claims"
	"driftlab/experiments/study/claims/claim"
	"driftlab/experiments/study/judge"
	"driftlab/results/record"
	"driftlab/trainer/method"
)

// Options are the choices of a reproduction.
type Options struct {
	// Claims are the ids to run, in this order; nil means all that do not judge a study.
	Claims []string
	// Seeds is the number of replications, with seeds in a row from SeedBase on; 0
	// means as many as each claim needs.
	Seeds int
	// SeedBase is the first seed; 0 means 1.
	SeedBase uint64
	// Fresh measures every claim a second time, with as many seeds from freshBase
	// on: other models, other prompts, other samples, judged by themselves.
	Fresh bool
	// Size is how much each replication measures.
	Size claim.Size
	// Dir keeps what is measured, a folder per claim; empty keeps nothing. What is there is not measured again.
	Dir string
	// Workers is the number of cores, which the replications share; 0 means one.
	// It changes no figure.
	Workers int
	// Progress is called after every replication, never from two goroutines at
	// once. Its units are replications, over all claims.
	Progress func(study.Progress)
}

// freshBase is the first seed of the second measurement. No setting of a claim
// was ever chosen with these.
const freshBase = 1001

// Judged is what a number of replications came to.
type Judged struct {
	Seeds []uint64
	// Independent is how many of them are independent: the warm starts of runs.
	Independent int
	Verdict     judge.Verdict
	Evidence    claim.Evidence
}

// sample is n in words: "10 models", or "10 warm starts (20 runs)".
func sample(independent, replications int, unit claim.Unit) string {
	if unit != claim.Run && independent == replications {
		return fmt.Sprintf("%d %ss", replications, unit)
	}
	return fmt.Sprintf("%d warm starts (%d %ss)", independent, replications, unit)
}

// Result is a claim with its verdict.
type Result struct {
	Claim claim.Claim
	Size  claim.Size
	Judged
	// Fresh is the verdict of new seeds before; nil where they were
	// not measured.
	Fresh *Judged
	// Arms are the claim's training runs with the first seed; empty for a claim that measures frozen weights.
	Arms []study.Arm
}

// sample is n in words.
func (r *Result) sample() string { return sample(r.Independent, len(r.Seeds), r.Claim.Unit) }

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
	if o.Dir == "" {
		if o.Dir, err = os.MkdirTemp("", "simulate-reproduce-"); err != nil {
			return nil, err
		}
		defer os.RemoveAll(o.Dir)
	}
	cache := claim.NewCache(o.Dir)
	out := make([]Result, len(list))
	var tasks []study.Task
	for i, c := range list {
		seeds, first := o.seeds(c)
		m := &measurement{claim: c, seeds: seeds, first: first, options: &o, runs: make([]*claim.Observation, len(seeds))}
		if m.folder, err = openFolder(o.Dir, c, o.Size); err != nil {
			return nil, err
		}
		defer m.folder.Close()
		record.Sweep(m.folder.Dir)
		m.left.Store(int64(len(seeds)))
		for k := range seeds {
			tasks = append(tasks, m.task(k, cache, &out[i]))
		}
	}
	if err := (study.Work{Cores: o.Workers, Progress: o.Progress}).Do(ctx, tasks); err != nil {
		return nil, err
	}
	return out, nil
}

// Replications counts those of a run with these options, kept ones included.
func Replications(o Options) (n int) {
	list, _ := chosen(o.Claims)
	for _, c := range list {
		seeds, _ := o.seeds(c)
		n += len(seeds)
	}
	return n
}

// measurement is a claim whose replications are being measured.
type measurement struct {
	claim   claim.Claim
	seeds   []uint64 // the fresh ones last
	first   int      // how many are not fresh
	options *Options
	folder  *folder
	left    atomic.Int64 // replications
	runs    []*claim.Observation
}

// task measures replication k. The last one of a claim judges it into out: its
// verdict need not wait for other claims.
func (m *measurement) task(k int, cache *claim.Cache, out *Result) study.Task {
	c, seed := m.claim, m.seeds[k]
	t := study.Task{Name: fmt.Sprintf("%s, seed %d", c.ID, seed), Units: 1, Store: m.folder.Store, Cell: record.Cell{Key: m.folder.key(seed), Seed: seed}}
	t.Make = func(ctx context.Context, d *study.TaskContext) (outcome, curve any, err error) {
		e := &claim.Env{Seed: seed, Size: m.options.Size, Cache: cache, Cores: d.Cores,
			Progress: func(note string) { d.Report(study.State{Note: note}) }}
		o, err := c.Measure(ctx, e)
		if err != nil || k > 0 {
			return o, nil, err
		}
		return o, nil, m.folder.keepPlan(e.Recipes(c.ID))
	}
	t.Then = func(cell *record.Cell) (err error) {
		if m.runs[k], err = observed(c.ID, cell); err != nil || m.left.Add(-1) > 0 {
			return err
		}
		*out = Result{Claim: c, Size: m.options.Size}
		if out.Judged, err = judgeRuns(c, m.seeds[:m.first], m.runs[:m.first]); err != nil {
			return err
		}
		if m.first < len(m.seeds) {
			fresh, err := judgeRuns(c, m.seeds[m.first:], m.runs[m.first:])
			if err != nil {
				return err
			}
			out.Fresh = &fresh
		}
		return out.keep(m.folder)
	}
	return t
}

// seeds are the seeds of a claim, the fresh ones last, and how many come before them.
func (o *Options) seeds(c claim.Claim) (seeds []uint64, first int) {
	n := cmp.Or(o.Seeds, c.Needed())
	seeds = study.SeedsInRow(cmp.Or(o.SeedBase, 1), n)
	if o.Fresh && c.Study == "" {
		seeds = append(seeds, study.SeedsInRow(freshBase, n)...)
	}
	return seeds, n
}

// chosen looks the ids up, each once; an unknown one is answered with the nearest. Without ids it is all claims that measure: the runs
// of a study are made by the study.
func chosen(ids []string) ([]claim.Claim, error) {
	if len(ids) == 0 {
		return slices.DeleteFunc(claims.All(), func(c claim.Claim) bool { return c.Study != "" }), nil
	}
	var list []claim.Claim
	for i, id := range ids {
		c, ok := claims.Lookup(id)
		if !ok {
			return nil, method.UnknownName(id, claims.IDs())
		}
		if !slices.Contains(ids[:i], id) {
			list = append(list, c)
		}
	}
	return list, nil
}

// judgeRuns computes checks and verdict from the observations. An observation that lacks a
// figure is an error: its file was damaged before it was sealed.
func judgeRuns(c claim.Claim, seeds []uint64, runs []*claim.Observation) (judged Judged, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *claim.FigureError:
			at := max(0, slices.IndexFunc(runs, func(o *claim.Observation) bool { return !o.Has(p.Figure) }))
			err = &record.FolderError{Path: filepath.Join("claims", c.ID), Problem: fmt.Sprintf("seed %d: %v", seeds[at], p), Fix: "remove its line from " + record.CellsFile + " to measure it again", Err: p}
		default:
			panic(p)
		}
	}()
	j := claim.Judge{Seeds: seeds, Runs: runs, SharedWarmStarts: c.Unit != claim.Draw}
	c.Judge(&j)
	return Judged{Seeds: seeds, Independent: j.Independent(), Verdict: judge.Decide(j.Evidence.Checks), Evidence: j.Evidence}, nil
}
