package diagnose

import (
	"math/rand/v2"
	"strings"
	"testing"

	"driftlab/trainer/method/stream"
)

// TestUnevenGap places a gap in an environment, in the steps from one on, or everywhere, and lets it grow evenly.
func TestUnevenGap(t *testing.T) {
	for _, c := range []struct {
		name  string
		size  func(k *kept) float64
		where string
	}{
		{"environment", func(k *kept) float64 { return map[bool]float64{true: 0.3, false: 0.02}[k.env == "code"] }, "environment code"},
		{"from step 6 on", func(k *kept) float64 { return map[bool]float64{true: 0.3, false: 0.02}[k.step >= 6] }, "the steps from step 6 on"},
		{"one step", func(k *kept) float64 { return map[bool]float64{true: 0.3, false: 0.02}[k.step == 4] }, "step 4"},
		{"everywhere", func(*kept) float64 { return 0.3 }, ""},
		{"even growth", func(k *kept) float64 { return 0.01 * float64(k.step+1) }, ""},
		{"all steps but the first", func(k *kept) float64 { return map[bool]float64{true: 0.3, false: 0}[k.step > 0] }, ""},
	} {
		r := rand.New(rand.NewPCG(1, 2))
		var rows []*kept
		for i := range 240 {
			k := &kept{env: []string{"math", "code"}[i%2], step: i / 24, file: "dump"}
			for range 20 {
				roll := -3 * r.Float64()
				k.roll = append(k.roll, roll)
				k.old = append(k.old, min(roll+c.size(k)*stream.Normal(r)*min(1, -roll), 0))
			}
			rows = append(rows, k)
		}
		text := unevenOf(rows)
		if (text == "") != (c.where == "") || !strings.Contains(text, "lies in "+c.where+":") && text != "" {
			t.Errorf("%s: %q", c.name, text)
		}
	}
}
