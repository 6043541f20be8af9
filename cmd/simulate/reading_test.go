package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"driftlab/precision/must"
)

var (
	codeBlock   = regexp.MustCompile("(?s)```.*?```")
	notSentence = regexp.MustCompile(`(?m)^(\s*\||#| {4}|\t|!\[).*$`)
	listItem    = regexp.MustCompile(`(?m)^\s*(-|\d+\.) (.*)$`)
	linked      = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	sentenceEnd = regexp.MustCompile(`[.!?](\s|$)|\n\s*\n`)
)

// readingGrade is the grade level of Flesch and Kincaid (1975) of a page's sentences:
// 0.39·words/sentences + 11.8·syllables/words - 15.59. Code, tables and headings are left
// out; a name in quotes counts as a word of one syllable.
func readingGrade(page string) (grade float64, words, sentences int) {
	page = codeBlock.ReplaceAllString(page, "")
	page = codeSpan.ReplaceAllString(page, "x")
	page = notSentence.ReplaceAllString(page, "")
	page = listItem.ReplaceAllString(page, "\n\n$2\n\n")
	page = linked.ReplaceAllString(page, "$1")
	syllables := 0
	for _, sentence := range sentenceEnd.Split(page, -1) {
		before := words
		for _, word := range strings.FieldsFunc(sentence, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' }) {
			words, syllables = words+1, syllables+syllablesOf(word)
		}
		if words > before {
			sentences++
		}
	}
	if words == 0 {
		return 0, 0, 0
	}
	return 0.39*float64(words)/float64(sentences) + 11.8*float64(syllables)/float64(words) - 15.59, words, sentences
}

// syllablesOf estimates the syllables of an English word: its groups of vowels, without a
// silent e at the end; of an acronym, one.
func syllablesOf(word string) int {
	if strings.ToUpper(word) == word {
		return 1
	}
	word = strings.ToLower(word)
	if !strings.HasSuffix(word, "le") {
		word = strings.TrimSuffix(word, "e")
	}
	n, vowel := 0, false
	for _, r := range word {
		is := strings.ContainsRune("aeiouy", r)
		if is && !vowel {
			n++
		}
		vowel = is
	}
	return max(n, 1)
}

// By hand: 6 words, 1 sentence, 6 syllables; and 4 words, 2 sentences, 7 syllables.
func TestReadingGradeByHand(t *testing.T) {
	for page, want := range map[string]float64{
		"The cat sat on the mat.":                                 0.39*6 + 11.8 - 15.59,
		"# Title\n\nMethods differ. Compare them.\n\n| a table |": 0.39*2 + 11.8*7/4 - 15.59,
	} {
		if got, words, sentences := readingGrade(page); got < want-1e-9 || got > want+1e-9 {
			t.Errorf("%q: %v of %d words in %d sentences, want %v", page, got, words, sentences, want)
		}
	}
}

// TestReadingGrade prints the grade of the pages and of the help texts, with -v: a report,
// and no limit. The aim is 12 or less.
func TestReadingGrade(t *testing.T) {
	pages := must.Get(filepath.Glob(filepath.Join("..", "..", "*.md")))(t)
	for _, depth := range []string{"*", "*/*", "*/*/*"} {
		more := must.Get(filepath.Glob(filepath.Join("..", "..", depth, "README.md")))(t)
		pages = append(pages, more...)
	}
	read := 0
	for _, path := range pages {
		text := must.Get(os.ReadFile(path))(t)
		if grade, words, sentences := readingGrade(string(text)); words > 0 {
			t.Logf("%5.1f  %4d words, %4.1f a sentence  %s", grade, words, float64(words)/float64(sentences), filepath.ToSlash(path[len("../../"):]))
			read++
		}
	}
	parser := newParser(&app{stdout: io.Discard, stderr: io.Discard}, &cli{})
	for _, command := range parser.Model.Children {
		help := command.Help + ".\n\n" + command.Detail
		if at := strings.Index(help, "\nExample"); at >= 0 {
			help = help[:at]
		}
		if grade, words, sentences := readingGrade(help); words > 0 && !command.Hidden {
			t.Logf("%5.1f  %4d words, %4.1f a sentence  simulate help %s", grade, words, float64(words)/float64(sentences), command.Name)
			read++
		}
	}
	if read < 25 {
		t.Errorf("only %d texts were read", read)
	}
}
