package results

import (
	"html"
	"math"
	"strconv"

	"driftlab/results/figure"
)

// shades are the least |log ratio| of each depth of colour, with the ratios that are it.
var shades = [...]struct {
	least      float64
	less, more string
}{{0.02, "0.98", "1.02"}, {0.1, "0.90", "1.11"}, {0.3, "0.74", "1.35"}, {math.Ln2, "0.50", "2.00"}}

// RatioLevel is the shade of a token by the log of the ratio of two probabilities, how much
// likelier the second engine finds it: below zero where it finds it less likely.
func RatioLevel(logRatio float64) int {
	depth := 0
	for _, s := range shades {
		if math.Abs(logRatio) >= s.least {
			depth++
		}
	}
	if logRatio < 0 {
		return -depth
	}
	return depth
}

// shadeClass is the class of a token: less or more, and how deep; empty without a shade.
func shadeClass(level int) string {
	switch {
	case level == 0:
		return "token"
	case level < 0:
		return "token less" + strconv.Itoa(-level)
	}
	return "token more" + strconv.Itoa(level)
}

// tokens draws responses token by token, with the key of their shades.
func (p *page) tokens(b *figure.Figure) {
	p.add(`<figure class="tokens">`, "\n<p class=\"scale\">")
	for i := len(shades) - 1; i >= 0; i-- {
		p.add(`<span class="token less`, strconv.Itoa(i+1), `">`, "below ", shades[i].less, "</span> ")
	}
	p.add(`<span class="token">1</span> `)
	for i, s := range shades {
		p.add(`<span class="token more`, strconv.Itoa(i+1), `">`, "above ", s.more, "</span> ")
	}
	p.add("</p>\n")
	for _, line := range b.Lines {
		p.add("<p class=\"title\">", inline(line.Title), "</p>\n<p class=\"line\">")
		for _, t := range line.Tokens {
			p.add(`<span class="`, shadeClass(t.Level), `" title="`, html.EscapeString(t.Note), `">`, html.EscapeString(t.Text), "</span> ")
		}
		p.add("</p>\n")
	}
	p.add("<figcaption>", inline(b.Note), "</figcaption>\n</figure>\n")
}
