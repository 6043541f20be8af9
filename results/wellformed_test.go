package results

import (
	"regexp"
	"strings"
	"testing"
)

// tags finds tags with their attributes; scripts and styles are cut out first.
var (
	tagPattern = regexp.MustCompile(`<(/?)([a-zA-Z][a-zA-Z0-9]*)((?:\s+[a-zA-Z:-]+(?:="[^"<]*")?)*)\s*(/?)>`)
	rawPattern = regexp.MustCompile(`(?s)(<(script|style)[^>]*>).*?(</(?:script|style)>)`)
	idPattern  = regexp.MustCompile(`\sid="([^"]*)"`)
)

// wellFormed checks HTML far more strictly than a browser: every element is
// closed in order, every "<" begins a tag, every id is unique and every
// attribute is quoted.
func wellFormed(t *testing.T, text string) {
	t.Helper()
	text = rawPattern.ReplaceAllString(text, "$1$3")
	text = strings.TrimPrefix(text, "<!DOCTYPE html>")
	void := map[string]bool{"meta": true, "br": true, "hr": true, "img": true, "input": true, "link": true}
	var open []string
	ids := map[string]bool{}
	rest := 0
	for _, m := range tagPattern.FindAllStringSubmatchIndex(text, -1) {
		if between := text[rest:m[0]]; strings.ContainsAny(between, "<>") {
			t.Fatalf("stray bracket near %.80q", between)
		}
		rest = m[1]
		closing, name, self := text[m[2]:m[3]] != "", strings.ToLower(text[m[4]:m[5]]), text[m[8]:m[9]] != ""
		if id := idPattern.FindStringSubmatch(text[m[6]:m[7]]); id != nil {
			if ids[id[1]] {
				t.Fatalf("id %q occurs twice", id[1])
			}
			ids[id[1]] = true
		}
		switch {
		case void[name] || self:
		case !closing:
			open = append(open, name)
		case len(open) == 0 || open[len(open)-1] != name:
			t.Fatalf("</%s> closes %v near %.120q", name, open, text[max(0, m[0]-80):m[1]])
		default:
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 || strings.ContainsAny(text[rest:], "<>") {
		t.Fatalf("not closed: %v", open)
	}
}
