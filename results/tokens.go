package results

import (
	"html"
	"math"
	"strconv"
)

// Tokens are responses token by token, each coloured by the ratio of two
// probabilities: how much likelier, or less likely, the second engine finds it.
type Tokens struct {
	Caption string
	Lines   []TokenLine
}

// TokenLine is a response, or a part of it.
type TokenLine struct {
	Title  string
	Tokens []Token
}

// Token is one of them.
type Token struct {
	// Text stands in the box, Note appears when it is pointed at; both plain text.
	Text, Note string
	// LogRatio decides the colour.
	LogRatio float64
}

func (Tokens) isBlock() {}

// shades are the least |log ratio| of each depth of colour, with the ratios that are it.
var shades = [...]struct {
	least      float64
	less, more string
}{{0.02, "0.98", "1.02"}, {0.1, "0.90", "1.11"}, {0.3, "0.74", "1.35"}, {math.Ln2, "0.50", "2.00"}}

// shade is the class of a token: less or more, and how deep; empty near 0.
func (t Token) shade() string {
	depth := 0
	for _, s := range shades {
		if math.Abs(t.LogRatio) >= s.least {
			depth++
		}
	}
	switch {
	case depth == 0:
		return ""
	case t.LogRatio < 0:
		return "less" + strconv.Itoa(depth)
	}
	return "more" + strconv.Itoa(depth)
}

// tokens draws them with their key.
func (p *page) tokens(b Tokens) {
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
			class := "token"
			if shade := t.shade(); shade != "" {
				class += " " + shade
			}
			p.add(`<span class="`, class, `" title="`, html.EscapeString(t.Note), `">`, html.EscapeString(t.Text), "</span> ")
		}
		p.add("</p>\n")
	}
	p.add("<figcaption>", inline(b.Caption), "</figcaption>\n</figure>\n")
}
