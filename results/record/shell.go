package record

import (
	"strings"
	"unicode"
)

// ShellWord is a word of a command line as shells read it, quoted where it must be.
func ShellWord(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("=.,/_-+:@%", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
