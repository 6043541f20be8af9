package schedule

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"driftlab/precision/must"
)

var update = flag.Bool("update", false, "rewrite testdata; read the difference before you commit it")

var activities = [...]string{"generate", "prefill", "load", "score", "train", "push", "call"}

// logText is a timeline as text, a line per lane.
func logText(c *Core) string {
	var b strings.Builder
	lanes := timeline(c)
	for lane := Learner; lane < c.config.Workers; lane++ {
		name := "learner "
		if lane != Learner {
			name = fmt.Sprintf("worker %d", lane)
		}
		b.WriteString(name)
		for _, s := range lanes[lane] {
			fmt.Fprintf(&b, " | %d-%d %s v%d", s.From, s.To, activities[s.Activity], s.Version)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// small are parameters with which a policy shows on a tiny cluster what it does;
// those of its registry are for large ones.
var small = map[string]Policy{
	"areal": &AReaL{Eta: 1}, "skyrl": &SkyRL{Staleness: 1}, "pipeline_rl": &pipelineRL{MaxLag: 4},
	"kimi": &kimi{Budget: 5}, "seer": &Seer{Chunk: 4, Draft: 2, AcceptPercent: 60}, "distflow": &distFlow{Service: 10, Controllers: 2},
	"verl_stream": &Verl{K: 2, RequireBatches: 1}, "verl_stale": &Verl{K: 1, StalenessPercent: 50, RequireBatches: 1},
	"verl_partial": &Verl{K: 1, StalenessPercent: 50, Partial: true, RequireBatches: 1}, "roll_flash_agentic": &rollAgentic{RatioPercent: 100, Redundancy: 1},
	"prime_rl": &primeRL{MaxOffPolicy: 0}, "trl": &trl{MaxStaleness: 1, WeightSyncSteps: 1}, "echo2": &echo2{Staleness: 1, Hop: 30},
	"laminar": &Laminar{Every: 50, Hop: 5}, "oapl": &oapl{Interval: 2}, "dora": &dora{K: 1, Flight: 6},
	"windowed_fifo": &windowedFIFO{Steps: 1, WindowPercent: 50}, "nemo_windowed": &NeMoWindowed{MaxStaleness: 0, InFlight: true},
	"verl_v1": &verlV1{Threshold: 1, Warmup: 1}, "miles": &miles{Pool: 4, MaxStaleness: 1, Retry: true},
}

// Every policy on a tiny cluster, to be read: what was commanded, and what came of it.
func TestScripts(t *testing.T) {
	for _, e := range Systems {
		policy, ok := small[e.Name]
		if !ok {
			policy = e.New()
		}
		d := newDesk(t, tiny(), policy, drawn(7, 6)).run()
		n := d.core.counts
		got := fmt.Sprintf("%s: 2 workers of 4 slots, 4 samples of 2 responses per update; request r is of sample r/%d\n%+v\n\n%s\n%s\nlags %v, tokens by lag %v; dropped %d, prefilled again %d tokens, wasted %d of %d\n",
			e.Name, d.core.width, policy, script(d.commands), logText(d.core), n.Lags, n.TokenLags, n.Dropped, n.ReprefilledTokens, n.WastedTokens, n.DecodedTokens)
		path := filepath.Join("testdata", e.Name+".txt")
		if *update {
			must.Do(t, os.WriteFile(path, []byte(got), 0o644))
			continue
		}
		want := must.Get(os.ReadFile(path))(t)
		if got != string(want) {
			t.Errorf("%s is not what testdata has; go test -update shows the difference in git\n%s", e.Name, got)
		}
	}
}
