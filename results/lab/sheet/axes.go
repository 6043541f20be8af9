package sheet

import (
	"fmt"
	"html/template"
	"strings"

	"driftlab/results/lab"
)

// The paper of empty axes, in pixels.
const (
	axesWidth, axesHeight = 460, 170
	axesLeft, axesBottom  = 46, 34
)

// axes are empty ones to draw a guess on: ticks are evenly spaced, as they are given,
// which makes lengths that double a log axis.
func axes(a *lab.Axes) template.HTML {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" role="img" aria-label="Empty axes: %s over %s">`, axesWidth, axesHeight, template.HTMLEscapeString(a.Y), template.HTMLEscapeString(a.X))
	width, height := axesWidth-axesLeft-12, axesHeight-axesBottom-10
	base := axesHeight - axesBottom
	for i, x := range a.XTick {
		at := axesLeft + width*i/max(len(a.XTick)-1, 1)
		fmt.Fprintf(&b, `<line class="grid" x1="%d" y1="10" x2="%d" y2="%d"/><text x="%d" y="%d" text-anchor="middle">%g</text>`, at, at, base, at, base+13, x)
	}
	for i, y := range a.YTick {
		at := base - height*i/max(len(a.YTick)-1, 1)
		fmt.Fprintf(&b, `<line class="grid" x1="%d" y1="%d" x2="%d" y2="%d"/><text x="%d" y="%d" text-anchor="end">%g</text>`, axesLeft, at, axesLeft+width, at, axesLeft-5, at+4, y)
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">%s</text>`, axesLeft+width/2, axesHeight-4, template.HTMLEscapeString(a.X))
	fmt.Fprintf(&b, `<text x="11" y="%d" text-anchor="middle" transform="rotate(-90 11 %d)">%s</text></svg>`, base-height/2, base-height/2, template.HTMLEscapeString(a.Y))
	return template.HTML(b.String())
}
