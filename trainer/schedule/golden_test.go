package schedule

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata; read the difference before you commit it")

var activities = [...]string{"generate", "prefill", "load", "score", "train", "push"}

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

// Every policy on a tiny cluster, to be read: what was commanded, and what came of it.
func TestScripts(t *testing.T) {
	for _, e := range Systems {
		d := newDesk(t, tiny(), e.New(), drawn(7, 6)).run()
		n := d.core.counts
		got := fmt.Sprintf("%s: 2 workers of 4 slots, 4 samples of 2 responses per update; request r is of sample r/%d\n%+v\n\n%s\n%s\nlags %v, tokens by lag %v; dropped %d, prefilled again %d tokens, wasted %d of %d\n",
			e.Name, d.core.width, e.New(), script(d.commands), logText(d.core), n.Lags, n.TokenLags, n.Dropped, n.ReprefilledTokens, n.WastedTokens, n.DecodedTokens)
		path := filepath.Join("testdata", e.Name+".txt")
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s is not what testdata has; go test -update shows the difference in git\n%s", e.Name, got)
		}
	}
}
