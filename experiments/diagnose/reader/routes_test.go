package reader_test

import (
	"slices"
	"strings"
	"testing"
)

// A token flips where a layer's experts are another set; what does not fit is damage, and what is not recorded nothing.
func TestFlips(t *testing.T) {
	const row = `{"logp_rollout":[-1,-2],"logp_old":[-1,-2],"mask":[1,0],"routes_rollout":ROLL,"routes_learner":LEARNER}`
	for _, c := range []struct {
		roll, learner string
		want          []bool
		damaged       int
	}{
		{"[[[0,1],[2,3]],[[4,5],[6,7]]]", "[[[1,0],[2,3]],[[4,5],[6,8]]]", []bool{false, false, false, true}, 0},
		{"[[[0],[2]],[[4],[6]]]", "[[[1],[2]],[[4],[6]]]", []bool{true, false, false, false}, 0},
		{"[[[0,1]],[[2,3]]]", "null", nil, 0},
		{"[[[null,1]],[[2,3]]]", "[[[null,1]],[[2,3]]]", nil, 0},
		{"[[[0,1],[2]],[[4,5],[6]]]", "[[[0,1],[2]],[[4,5],[6]]]", nil, 1},
		{"[[[0,1]],[[2,3]],[[4,5]]]", "[[[0,1]],[[2,3]],[[4,5]]]", nil, 1},
		{"[[[0,1]],[[2,3]]]", "[[[0]],[[2]]]", nil, 1},
	} {
		rows, about, err := readText(strings.NewReplacer("ROLL", c.roll, "LEARNER", c.learner).Replace(row), "")
		if err != nil || about.Damaged != c.damaged || len(rows) != 1-c.damaged {
			t.Errorf("%s, %s: %v, %+v", c.roll, c.learner, err, about)
			continue
		}
		if c.damaged > 0 {
			continue
		}
		if got := rows[0].Flips; !slices.Equal(got, c.want) {
			t.Errorf("%s, %s: %v", c.roll, c.learner, got)
		}
		if c.want != nil && rows[0].Flipped(1) != slices.Contains(c.want[len(c.want)/2:], true) {
			t.Errorf("%s, %s: the second token", c.roll, c.learner)
		}
	}
}
