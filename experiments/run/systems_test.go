package run

import (
	"flag"
	"slices"
	"testing"

	"driftlab/precision/must"
	"driftlab/results/record"
	"driftlab/trainer/recipe"
)

// signature is what a shipped recipe of an asynchronous system is there to show,
// in a short run: a figure's greatest value lies between them.
type signature struct {
	figure   string
	from, to float64
}

const most = 1e18 // any number

// signatures are the signatures of all shipped recipes whose schedule runs on a clock. Shares
// and lags are of the systems' own pages; see trainer/method/schedule.
var signatures = map[string][]signature{
	// Colocated, partial responses carried over: tokens of several versions.
	"april":     {{"staleness/mixed_responses", 0.1, 1}, {"clock/reprefilled_tokens", 1, most}},
	"copris":    {{"staleness/mixed_responses", 0.1, 1}, {"clock/reprefilled_tokens", 1, most}},
	"kimi-k1.5": {{"staleness/mixed_responses", 0.1, 1}, {"staleness/tokens/max", 1, most}},
	// A count bounds the mean; new weights interrupt, and prefixes are read again.
	"areal":      {{"staleness/samples/mean", 3, 4.1}, {"staleness/mixed_responses", 0.05, 1}, {"clock/reprefilled_tokens", 1, most}},
	"areal-a3po": {{"staleness/samples/mean", 3, 4.1}, {"staleness/mixed_responses", 0.05, 1}},
	// The same count, the old keys and values kept.
	"skyrl":       {{"staleness/stale_keys", 0.01, 1}, {"staleness/mixed_responses", 0.05, 1}, {"clock/reprefilled_tokens", 0, 0}},
	"pipeline-rl": {{"staleness/stale_keys", 0.01, 1}, {"staleness/mixed_responses", 0.1, 1}},
	// Groups that teach nothing are refused, under the same count.
	"skyrl-dapo": {{"rollout/refused_groups", 1, most}, {"clock/dropped_samples", 1, most}, {"staleness/stale_keys", 0.01, 1}},
	// The pool begins again, without any bound.
	"slime-fully-async": {{"clock/wasted_tokens", 1, most}, {"staleness/tokens/max", 2, most}, {"staleness/mixed_responses", 0, 0}},
	// verl's modes c and d differ in what becomes of running work.
	"verl-stale":   {{"staleness/mixed_responses", 0, 0}, {"staleness/tokens/max", 1, most}},
	"verl-partial": {{"staleness/mixed_responses", 0.1, 1}, {"clock/reprefilled_tokens", 1, most}},
	// A hard bound: by waiting, by dropping, by capacity.
	"roll-flash":       {{"staleness/tokens/max", 1, 1}, {"staleness/samples/mean", 1, 1}, {"clock/dropped_samples", 0, 0}},
	"prime-rl":         {{"staleness/tokens/max", 2, 2}, {"clock/dropped_samples", 1, most}},
	"trl-async":        {{"staleness/tokens/max", 4, 4}, {"clock/dropped_samples", 1, most}},
	"echo-2":           {{"staleness/tokens/max", 4, 4}, {"clock/dropped_samples", 1, most}},
	"windowed-fifo":    {{"staleness/tokens/max", 3, 3}, {"clock/dropped_samples", 0, 0}, {"staleness/mixed_responses", 0.1, 1}},
	"nemo-windowed":    {{"staleness/tokens/max", 1, 1}, {"clock/dropped_samples", 1, most}, {"staleness/stale_keys", 0.01, 1}},
	"nemo-weight-fifo": {{"staleness/tokens/max", 2, 2}, {"clock/dropped_samples", 0, 0}, {"staleness/stale_keys", 0.01, 1}},
	"nemo-in-order":    {{"staleness/tokens/max", 2, 2}, {"clock/dropped_samples", 0, 0}, {"staleness/stale_keys", 0.01, 1}},
	"tinker-paced":     {{"staleness/tokens/max", 2, 2}, {"clock/dropped_samples", 0, 0}, {"staleness/mixed_responses", 0, 0}},
	"verl-v1":          {{"staleness/tokens/max", 1, 1}, {"clock/dropped_samples", 1, most}, {"staleness/mixed_responses", 0.1, 1}, {"clock/reprefilled_tokens", 1, most}},
	"miles":            {{"staleness/tokens/max", 1, 1}, {"clock/dropped_samples", 1, most}, {"clock/reprefilled_tokens", 1, most}},
	// No bound of a sample: a count alone, or a queue that drops its oldest.
	"nemo-ready-first": {{"staleness/tokens/max", 3, most}, {"staleness/samples/mean", 2, 2}, {"clock/dropped_samples", 0, 0}},
	"queue-drop":       {{"staleness/tokens/max", 2, most}, {"clock/dropped_samples", 1, most}, {"clock/reprefilled_tokens", 1, most}},
	// One batch ahead.
	"one_step_off": {{"staleness/tokens/mean", 1, 1}, {"staleness/mixed_responses", 0, 0}},
	"llamarl":      {{"staleness/tokens/mean", 1, 1}},
	"asyncflow":    {{"staleness/tokens/mean", 1, 1}},
	// One policy for ten updates, the buffer cleared when the next is there.
	"oapl": {{"staleness/tokens/max", 9, 9}, {"clock/dropped_samples", 1, most}, {"staleness/mixed_responses", 0, 0}},
	// Groups of earlier steps are trained again.
	"fresh-per": {{"replay/reuse_max", 2, most}, {"replay/share", 0.1, 1}, {"staleness/tokens/max", 2, most}},
	// Several versions at once, one per response.
	"dora":    {{"staleness/tokens/max", 3, 3}, {"staleness/mixed_responses", 0, 0}, {"clock/dropped_samples", 0, 0}},
	"laminar": {{"staleness/tokens/max", 2, most}, {"staleness/mixed_responses", 0, 0}},
	// Published runs: groups that are refused, rollouts as old as is said.
	"compassmax":  {{"rollout/refused_groups", 1, most}, {"gap/k3", 1e-5, 0.1}},
	"dapo":        {{"rollout/refused_groups", 1, most}},
	"minimax-m1":  {{"rollout/refused_groups", 1, most}},
	"magistral":   {{"rollout/refused_groups", 1, most}, {"staleness/tokens/max", 1, most}},
	"kimi-k2":     {{"staleness/mixed_responses", 0.1, 1}, {"staleness/tokens/max", 1, most}},
	"intellect-3": {{"staleness/tokens/max", 1, 8}},
	// On-policy: nothing is old, and the clock is shorter than that of the loop in turns.
	"stream":        {{"staleness/tokens/max", 0, 0}},
	"periodic":      {{"staleness/tokens/max", 0, 0}},
	"seer":          {{"staleness/tokens/max", 0, 0}},
	"tail-batching": {{"staleness/tokens/max", 0, 0}, {"clock/dropped_samples", 1, most}, {"clock/wasted_tokens", 1, most}},
	"distflow":      {{"staleness/tokens/max", 0, 0}},
}

var exhaustive = flag.Bool("exhaustive", false, "every system and every variant of a run, as in nightly tests, in place of some of each kind")

// typical are systems of every kind: colocated, a count, stale keys, a pool, a hard bound by each means, one batch ahead, a buffer that is
// cleared, several versions, refused groups, on-policy.
var typical = []string{"kimi-k1.5", "areal", "skyrl", "slime-fully-async", "verl-partial", "roll-flash", "prime-rl", "windowed-fifo", "queue-drop", "one_step_off", "oapl", "laminar", "seer"}

// wholeBatch are recipes that show it with their own number of prompts alone; four a step are
// enough for the others.
var wholeBatch = []string{"compassmax", "minimax-m1", "trl-async"}

// Every shipped recipe of an asynchronous system shows, in a dozen steps, what the
// system is known for; an on-policy one a clock that is shorter than that of the
// synchronous loop on the same cluster, which is Kimi's with a budget that nothing
// uses up, or of the system without its means. All of them run with -exhaustive, the typical ones without.
func TestSystemsAct(t *testing.T) {
	ran := func(name string, sets ...string) *record.Record {
		sets = append(sets, "steps=12", "eval.every=0")
		if !slices.Contains(wholeBatch, name) {
			sets = append(sets, "rollout.prompts=4")
		}
		r := must.Get(recipe.Load(name, sets...))(t)
		return mustRun(t, r, Options{}).Record
	}
	loop := "schedule={name: kimi, budget: 4096}"
	slower := map[string][]string{"stream": {loop}, "periodic": {loop}, "seer": {loop}, "distflow": {"schedule.controllers=1"}}
	for _, name := range recipe.Names() {
		r := must.Get(recipe.Load(name))(t)
		if !r.Resolved().OnClock() {
			continue
		}
		want, known := signatures[name]
		if !known {
			t.Errorf("nobody says what the recipe %s shows", name)
			continue
		}
		if !*exhaustive && !slices.Contains(typical, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			run := ran(name)
			for _, s := range want {
				c := run.Column(s.figure)
				if c == nil {
					t.Fatalf("no %s", s.figure)
				}
				if top := slices.Max(c.Value); top < s.from || top > s.to {
					t.Errorf("%s comes to %v, expected is %v to %v", s.figure, top, s.from, s.to)
				}
			}
			if sets, ok := slower[name]; ok {
				fast, _ := run.Column("clock/ticks").Last()
				slow, _ := ran(name, sets...).Column("clock/ticks").Last()
				if fast >= slow {
					t.Errorf("%v ticks, with %v %v", fast, sets, slow)
				}
			}
		})
	}
}
