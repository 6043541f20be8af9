package results

import (
	"html/template"
	"strings"
)

// inline escapes a line of prose for HTML. Of Markdown it knows what a caption
// needs: `code` and **strong**; a mark without its partner stays as it is.
func inline(text string) template.HTML {
	var b strings.Builder
	for text != "" {
		at := strings.IndexAny(text, "`*")
		if at < 0 {
			break
		}
		mark, tag := "`", "code"
		if text[at] == '*' {
			mark, tag = "**", "strong"
		}
		body, rest, ok := "", "", false
		if strings.HasPrefix(text[at:], mark) {
			body, rest, ok = strings.Cut(text[at+len(mark):], mark)
		}
		if !ok || body == "" {
			b.WriteString(template.HTMLEscapeString(text[:at+1]))
			text = text[at+1:]
			continue
		}
		b.WriteString(template.HTMLEscapeString(text[:at]))
		b.WriteString("<" + tag + ">" + template.HTMLEscapeString(body) + "</" + tag + ">")
		text = rest
	}
	b.WriteString(template.HTMLEscapeString(text))
	return template.HTML(b.String())
}
