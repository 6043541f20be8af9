package reproduce

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"driftlab/experiments/study/claims"
	"driftlab/experiments/study/judge"
	"driftlab/precision/must"
)

// third names a folder of claims that were measured on other seeds; their verdicts are published, in thirdFile.
var third = flag.String("third", "", "publish the verdicts of a folder of claims that were measured on a third set of seeds")

const thirdFile = "seeds.json"

// otherSeeds are the verdicts on a third set of models, prompts and samples.
type otherSeeds struct {
	First    uint64                   `json:"first_seed"`
	Verdicts map[string]judge.Verdict `json:"verdicts"`
}

// TestThirdSeeds: what is published of the third set of seeds are verdicts of claims.
func TestThirdSeeds(t *testing.T) {
	file := filepath.Join(publishedDir, "claims", thirdFile)
	if *third != "" {
		list := must.Get(Kept(*third))(t)
		of := otherSeeds{First: list[0].Seeds[0], Verdicts: map[string]judge.Verdict{}}
		for i := range list {
			if r := &list[i]; !r.Provisional() && r.Seeds[0] == of.First {
				of.Verdicts[r.Claim.ID] = r.own()
			}
		}
		must.Do(t, os.WriteFile(file, append(must.Get(json.MarshalIndent(of, "", " "))(t), '\n'), 0o644))
	}
	for id, v := range readThird(t).Verdicts {
		if _, ok := claims.Lookup(id); !ok || !slices.Contains(judge.Verdicts, v) {
			t.Errorf("%s: %q", id, v)
		}
	}
}

// readThird reads the published verdicts of the third set; there are none before it has been measured.
func readThird(t *testing.T) (of otherSeeds) {
	text, err := os.ReadFile(filepath.Join(publishedDir, "claims", thirdFile))
	if !errors.Is(err, fs.ErrNotExist) {
		must.Do(t, errors.Join(err, json.Unmarshal(text, &of)))
	}
	return of
}

// holds reports whether a decided verdict says that the claim is true.
func holds(v judge.Verdict) bool {
	return slices.Index(judge.Verdicts, v) < slices.Index(judge.Verdicts, judge.Undecided)
}

// seedsPage compares the verdicts of the first seeds with those of the seeds from freshBase on, and the published ones with those of
// the third set.
func seedsPage(t *testing.T, list []Result) string {
	of := readThird(t)
	var fresh, again strings.Builder
	var n, m, others, moved, train, decided, left, opposite int
	for i := range list {
		r := &list[i]
		if r.Fresh != nil {
			n++
			if r.Fresh.Verdict != r.Verdict {
				others++
				fmt.Fprintf(&fresh, "| [%s](%[1]s/README.md) | %s | %s |\n", r.Claim.ID, r.Verdict, r.Fresh.Verdict)
			}
		}
		if v, ok := of.Verdicts[r.Claim.ID]; ok {
			m++
			if len(r.Claim.Rates) > 0 && !r.Claim.Frozen {
				train++
			}
			if r.own() != judge.Undecided {
				decided++
			}
			if v != r.own() {
				if r.own() != judge.Undecided {
					left++
				}
				if v != judge.Undecided && r.own() != judge.Undecided && holds(v) != holds(r.own()) {
					opposite++
				}
				moved++
				fmt.Fprintf(&again, "| [%s](%[1]s/README.md) | %s | %s |\n", r.Claim.ID, r.own(), v)
			}
		}
	}
	page := fmt.Sprintf("# Verdicts on other models, prompts and samples\n\nThese are the verdicts of the claims' own checks. "+
		"A study over a ladder of learning rates has base models of its own.\n\n"+
		"In %d of %d claims the seeds from %d give the verdict of the first seeds, those from 1. The others are undecided:\n\n"+
		"| claim | first seeds | new seeds |\n|---|---|---|\n%s", n-others, n, freshBase, &fresh)
	if m == 0 {
		return page
	}
	return page + fmt.Sprintf("\n%d of %d claims were measured a third time, with seeds from %d; %d of them train a model. %d have the published verdict, among them "+
		"%d of the %d whose published verdict is decided. %d are decided the opposite way. A published verdict needs two sets of seeds that agree; the third verdict comes from one set, so a claim is decided more easily there. The others:\n\n"+
		"| claim | published | third seeds |\n|---|---|---|\n%s\n"+
		"`simulate reproduce CLAIM ... --seed %[3]d --out DIR` measures them, and `go test ./experiments/study/claims/reproduce -run ThirdSeeds -third DIR` writes `%[10]s`.\n",
		m, n, of.First, train, m-moved, decided-left, decided, opposite, &again, thirdFile)
}
