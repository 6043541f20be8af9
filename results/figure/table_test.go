package figure

import (
	"math"
	"testing"
)

// demoTable has every kind of cell.
func demoTable() *Figure {
	t := &Figure{
		Title:   "Gap <at> equal weights",
		Columns: []Column{{Name: "rollout"}, {Name: "mean |d|", Unit: "nats", Align: Right}, {Name: "flips", Align: Right}, {Name: "verdict"}},
		Note:    "Means over `3` seeds.",
	}
	t.Add(Word("bf16, same order"), Number(0, 2).As(Good), Percent(0, 1), Word("equal bits").As(Good))
	t.Add(Word("fp8 | w8a8"), Number(0.0312345678901, 3).As(Bad), Percent(0.0371, 1), Word("gap").As(Bad))
	t.Add(Word("int8 é").As(Strong), Number(math.NaN(), 3))
	return t
}

func TestTableMarkdown(t *testing.T) {
	want := `**Gap <at> equal weights**

| rollout          | mean \|d\| (nats) | flips | verdict        |
|------------------|------------------:|------:|----------------|
| bf16, same order |             **0** |    0% | **equal bits** |
| fp8 \| w8a8      |        **0.0312** |  3.7% | **gap**        |
| **int8 é**       |               nan |       |                |

Means over ` + "`3`" + ` seeds.
`
	if got := demoTable().Markdown(); got != want {
		t.Errorf("have:\n%s\nwant:\n%s", got, want)
	}
}

func TestFormatNumber(t *testing.T) {
	for _, c := range []struct {
		v      float64
		digits int
		want   string
	}{
		{0, 3, "0"}, {math.Copysign(0, -1), 3, "0"}, {1, 3, "1.00"}, {-1.2345, 3, "-1.23"}, {999.96, 4, "1000"},
		{123456, 3, "123000"}, {0.0012345, 2, "0.0012"}, {0.00099999, 2, "1.0e-3"}, {1.5e-7, 2, "1.5e-7"},
		{2e12, 1, "2e12"}, {math.NaN(), 3, "nan"}, {math.Inf(1), 3, "Inf"}, {math.Inf(-1), 3, "-Inf"}, {0.1, 1, "0.1"},
	} {
		if got := FormatNumber(c.v, c.digits); got != c.want {
			t.Errorf("%v to %d digits: %s, want %s", c.v, c.digits, got, c.want)
		}
	}
}

func TestPercent(t *testing.T) {
	for _, c := range []struct {
		v        float64
		decimals int
		want     string
	}{
		{0, 1, "0%"}, {1, 1, "100%"}, {0.5, 0, "50%"}, {0.00004, 2, "<0.01%"}, {0.99999, 1, ">99.9%"}, {0.123, 1, "12.3%"},
		{math.NaN(), 1, "nan"}, {-0.05, 1, "-5.0%"}, {1.25, 0, "125%"},
	} {
		if got := Percent(c.v, c.decimals).Text; got != c.want {
			t.Errorf("%v: %s, want %s", c.v, got, c.want)
		}
	}
}
