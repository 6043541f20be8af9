package picture

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"driftlab/precision/must"
	"driftlab/results/figure"
	"driftlab/results/record"
)

// TestLevel: a shade begins where its scale says.
func TestLevel(t *testing.T) {
	for d, want := range map[float64]int{0: 0, 1e-300: 1, -9.9e-5: 1, 1e-4: 2, -1e-3: 3, 0.0099: 3, 0.01: 4, -30: 4} {
		if got := Level(d); got != want {
			t.Errorf("level of %v: %d, want %d", d, got, want)
		}
	}
}

// published reads a recording.
func published[T any](t *testing.T, name string) []T {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join("..", "..", "published", "lab", name)))(t)
	var all []T
	if err := json.Unmarshal(text, &all); err != nil || len(all) == 0 {
		t.Fatalf("%s: %d recordings, %v", name, len(all), err)
	}
	return all
}

// shown are the panels that stand at these values of the controls.
func shown(panels []figure.Figure, at map[string]string) (found []figure.Figure) {
	for _, p := range panels {
		matches := true
		for key, value := range p.When {
			matches = matches && at[key] == value
		}
		if matches {
			found = append(found, p)
		}
	}
	return found
}

// Whatever the controls say there is one plot, one table and one token's workings.
func TestPolicies(t *testing.T) {
	for _, u := range published[record.Update](t, "update.json") {
		panels := Policies(&u)
		for k := range u.Updates + 1 {
			for _, mode := range []string{Merged, Decoupled} {
				for _, c := range u.Caps {
					for i := range u.Tokens {
						at := map[string]string{Pair: u.Rollout + "/" + u.Learner, Mode: mode, Updates: strconv.Itoa(k), Cap: short(c), Which: strconv.Itoa(i + 1)}
						found := shown(panels, at)
						if len(found) != 3 || found[0].Kind != figure.Lines || found[1].Kind != figure.Table || found[2].Kind != figure.Working {
							t.Fatalf("at %v there are %d panels", at, len(found))
						}
						if len(found[1].Rows) != len(u.Tokens) || len(found[1].Rows[0]) != len(found[1].Columns) || len(found[2].Formulas) < 4 {
							t.Errorf("at %v: %d rows of %d, %d formulas", at, len(found[1].Rows), len(found[1].Rows[0]), len(found[2].Formulas))
						}
					}
				}
			}
		}
	}
}

// The lesson is in the recording: the merged clip removes gradients before any update, a
// decoupled one none; and a token's clip in the table equals the clip in its workings.
func TestPoliciesTellTheLesson(t *testing.T) {
	u := published[record.Update](t, "update.json")[1]
	at := map[string]string{Pair: u.Rollout + "/" + u.Learner, Mode: Merged, Updates: "0", Cap: "2", Which: "1"}
	merged := shown(Policies(&u), at)
	at[Mode] = Decoupled
	decoupled := shown(Policies(&u), at)
	if !strings.Contains(merged[1].Note, "gradient of 1 of these 12") || !strings.Contains(decoupled[1].Note, "gradient of 0 of these 12") {
		t.Errorf("merged: %s decoupled: %s", merged[1].Note, decoupled[1].Note)
	}
	for _, found := range [][]figure.Figure{merged, decoupled} {
		branch, text := found[1].Rows[0][9].Text, ""
		for _, f := range found[2].Formulas {
			text += f.Text + "\n"
		}
		for _, f := range found[2].Formulas {
			if symbol, _, _ := strings.Cut(f.Text, " = "); meanings[symbol] == "" && symbol != "r" {
				t.Errorf("nothing says what %s is", symbol)
			}
		}
		if !strings.Contains(text, "("+branch+")") {
			t.Errorf("the table says %s, the workings\n%s", branch, text)
		}
	}
}

// Each replay has its strips; crosses stand where routes are free, and the fewer
// decisions are shown the larger the share of them.
func TestFlips(t *testing.T) {
	for _, f := range published[record.Flips](t, "flips.json") {
		panels := Flips(&f)
		at := map[string]string{Pair: f.Rollout + "/" + f.Learner, Replay: none, Margin: all}
		var share []float64
		for _, margin := range []string{all, lowestHalf, lowestTenth} {
			at[Margin] = margin
			found := shown(panels, at)
			if len(found) != 2 || len(found[1].Lines) != len(f.Starts)*f.Layers {
				t.Fatalf("at %v: %d panels", at, len(found))
			}
			crosses, seen := 0.0, 0.0
			for _, line := range found[1].Lines {
				for _, k := range line.Tokens {
					if k.Text != "·" {
						seen++
					}
					if k.Cross {
						crosses++
					}
				}
			}
			share = append(share, crosses/seen)
		}
		if share[0] == 0 || share[2] <= share[0] {
			t.Errorf("%s: shares of crosses %v", at[Pair], share)
		}
		at[Replay] = IDs
		for _, line := range shown(panels, at)[1].Lines {
			for _, k := range line.Tokens {
				if k.Cross {
					t.Fatal("a cross where the routes are replayed")
				}
			}
		}
		if !(f.KLFree > f.KLIDs && f.KLIDs > f.KLIDsGates) {
			t.Errorf("%s: exact KL %g, %g, %g", at[Pair], f.KLFree, f.KLIDs, f.KLIDsGates)
		}
	}
}
