package recipe

import (
	"fmt"
	"strings"
	"testing"

	"driftlab/moe"
)

// TestRoutingExample recomputes the worked example of the routing replays.
func TestRoutingExample(t *testing.T) {
	g := moe.Gate{Experts: 4, TopK: 2}
	s, ids, recorded := []float32{1, 0.5, 0.2, -1}, []uint8{0, 3}, []float32{0.7, 0.3}
	live, ds := make([]float32, 2), make([]float32, 4)
	g.Replay(live, s, ids, 1)
	g.Grad(ds, []float32{1, 0}, live, s, ids, 1)
	text := func(x []float32) string {
		var words []string
		for _, v := range x {
			words = append(words, fmt.Sprintf("%.6g", v))
		}
		return "[" + strings.Join(words, " ") + "]"
	}
	want := fmt.Sprintf("s = %s, I = {%d, %d} recorded with the gates %s\nlive gates %s, recorded gates %s\ndg = [1 0]: ds = %s with either",
		text(s), ids[0], ids[1], text(recorded), text(live), text(recorded), text(ds))
	if routingExample != want {
		t.Errorf("the example says\n%s\nrecomputed\n%s", routingExample, want)
	}
}

// TestRoutingNames: validation admits what is listed.
func TestRoutingNames(t *testing.T) {
	for _, s := range routings {
		field := "routing.replay=" + s.Name
		if s.Name == GatesRecorded {
			field = "routing={replay: keep_routing, gates: recorded}"
		}
		r, err := Load("default", field)
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		if again, err := Parse("again.yaml", r.YAML()); err != nil || again.Routing != r.Routing {
			t.Errorf("%s is read back as %+v: %v", s.Name, again.Routing, err)
		}
	}
}
