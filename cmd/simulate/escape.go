package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// oneLine is text with every control character written out: names of files,
// recipes and flags are anything, and a terminal obeys what it is shown.
func oneLine(text string) string {
	return strings.ReplaceAll(escape(text), "\n", `\n`)
}

// escape writes out every control character but the end of a line, and what
// turns the direction of writing. As \u and four digits they are the same text
// in a JSON document; bytes that are no text are \x and two.
func escape(text string) string {
	if !strings.ContainsFunc(text, mustEscape) && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case mustEscape(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(text[:size])
		}
		text = text[size:]
	}
	return b.String()
}

// mustEscape reports whether a terminal would act on a character instead of
// showing it.
func mustEscape(r rune) bool {
	return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
}
