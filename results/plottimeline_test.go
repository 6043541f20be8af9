package results

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"driftlab/results/figure"
)

// A timeline is well-formed, the same each time, and shows each version's colour;
// what is beyond its end, and neighbours that cannot be distinguished, take no room.
func TestTimeline(t *testing.T) {
	lane := figure.Lane{Name: "worker 0"}
	for i := range 5000 {
		lane.Spans = append(lane.Spans, figure.Span{From: float64(i) / 500, To: float64(i+1) / 500, Version: i / 1000, Share: 0.5})
	}
	lane.Spans = append(lane.Spans, figure.Span{From: 10, To: 20, Version: 10, Share: 1}, figure.Span{From: 30, To: 40, Version: 5, Share: 1})
	f := &figure.Figure{Kind: figure.Timeline, Title: "a < b", X: figure.Axis{Label: "s", High: 20}, Lanes: []figure.Lane{{Name: "learner"}, lane}}
	text := SVG(f)
	if !bytes.Equal(text, SVG(f)) {
		t.Error("equal figures have different bytes")
	}
	for d := xml.NewDecoder(bytes.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for v, want := range []bool{true, true, true, true, true, false} {
		// Once in the legend, once per rule of the dark theme, and as bars.
		if bars := strings.Count(string(text), "fill:"+hex(armColor(v))) > 2; bars != want {
			t.Errorf("version %d drawn: %v", v, bars)
		}
	}
	if n := strings.Count(string(text), "<path"); n > 400 {
		t.Errorf("%d shapes for 5000 spans", n)
	}
	if !strings.Contains(string(SVG(&figure.Figure{Kind: figure.Timeline, Title: "none"})), "no data") {
		t.Error("an empty timeline says nothing")
	}
}
