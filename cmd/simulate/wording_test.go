package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"driftlab/precision/must"
)

// A private term is a phrase that this project once used for something that the field has a
// name for. Except has the uses of the same words that are not that phrase.
type privateTerm struct{ phrase, except, instead string }

var privateTerms = []privateTerm{
	{`told`, ``, "significantly better or worse (of a test), distinguished, given, stated"},
	{`besides?`, ``, "next to, in addition to, except, with"},
	{`doses?|dosed|dosage`, `doses\.(?:yaml|md|csv|json|html|png)|doses/|--doses|aliases:"doses"|models,? (?:and )?doses|// doses|key: dose|&dose=|\bdose: |name: doses|## doses`, "level or strength of the stressor"},
	{`remed(?:y|ies)|cur(?:e|es|ed)`, ``, "correction, fix, recommended setting"},
	{`prescri\w+`, ``, "recommend"},
	{`ill runs?|runs? (?:is|are|was|were) ill`, ``, "unstable run"},
	{`updates? old`, ``, "staleness (off-policy lag) of N updates"},
	{`old rollouts?|aged|ages of (?:the )?(?:tokens|rollouts|data)|age of (?:the |a |each |its )?(?:tokens?|rollouts?|data|samples?)`, ``, "stale rollouts, staleness"},
	{`what (?:holds|falls|warns)|saw (?:it )?coming|cr(?:ied|ying) wolf`, ``, "stays within 0.1, degrades, early-warning signal, false alarm"},
	{`fells|runs? (?:fall|falls|fell)|(?:arm|method|setting)s? (?:fall|falls|fell|holds?)`, ``, "degrades, collapses, stays within 0.1 of the baseline"},
	{`by (?:its|their) look|signature look`, ``, "from its statistical signature"},
	{`room over`, `room over gap`, "headroom; margin above"},
	{`\d+ times (?:of|in) (?:10|ten)`, ``, "80 % power to detect"},
	{`coarse (?:engines?|rollouts?|routers?|formats?|numerics)|coarser (?:engines?|formats?|numerics)`, ``, "low-precision"},
	{`matched runs?`, ``, "matched control"},
	{`prices? the tokens`, ``, "scores the tokens"},
	{`word of the teacher|teacher's word`, ``, "teacher signal"},
	{`teach(?:es)? nothing`, ``, "have zero advantage"},
	{`taken up again|takes? up again`, ``, "resumed, resumable"},
	{`travell?ers?|nevers|house rules?|floors of`, ``, "batch, import rules"},
	{`peers' own|peers' code|peer code`, ``, "reference implementations"},
	{`held against nothing`, ``, "reported, not tested"},
	{`in front of all|best in the screen`, ``, "ranked first in the screening stage"},
	{`over none`, ``, "improvement over no correction"},
	{`seeds? fell|fell on|Fell:`, ``, "degraded"},
	{`would find`, ``, "detectable"},
	{`not judged by that`, ``, "other outcomes"},
}

// passage is a line that a person reads.
type passage struct {
	file string
	line int
	text string
}

// notProse are files that others wrote, that quote, or that commands of the README write.
var notProse = regexp.MustCompile(`(^|/)(testdata|uplot|axe|\.git|\.ci)(/|$)|^(site|runs|out)(/|$)|wasm_exec\.js$|_test\.go$|^results/published/table/.*plan\.yaml$`)

var (
	codeSpan   = regexp.MustCompile("`[^`]*`")
	linkTarget = regexp.MustCompile(`\]\([^)]*\)`)
	htmlTag    = regexp.MustCompile(`<[^>]*>`)
	shellLine  = regexp.MustCompile(`^( {4}|\t)`)
)

// prose are the passages of the repository: pages, templates, texts of the lab, comments of
// recipes, and of the code every comment and every string of several words.
func prose(t *testing.T) (all []passage) {
	t.Helper()
	root := filepath.Join("..", "..")
	must.Do(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		if name != "." && notProse.MatchString(name) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		switch filepath.Ext(name) {
		case ".go":
			all = append(all, goProse(t, path, name)...)
		case ".md", ".html", ".js", ".yaml", ".txt":
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for i, line := range strings.Split(string(text), "\n") {
				if p := filepath.Ext(name); p == ".md" && shellLine.MatchString(line) {
					_, line, _ = strings.Cut(line, " # ")
				} else if p == ".html" {
					line = htmlTag.ReplaceAllString(line, " ")
				}
				all = append(all, passage{name, i + 1, line})
			}
		}
		return nil
	}))
	return all
}

// goProse are the comments and the strings of a file of code.
func goProse(t *testing.T, path, name string) (list []passage) {
	t.Helper()
	files := token.NewFileSet()
	file := must.Get(parser.ParseFile(files, path, nil, parser.ParseComments))(t)
	add := func(at token.Pos, text string) {
		for i, line := range strings.Split(text, "\n") {
			list = append(list, passage{name, files.Position(at).Line + i, line})
		}
	}
	for _, group := range file.Comments {
		for _, c := range group.List {
			add(c.Pos(), c.Text)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		if text, err := strconv.Unquote(lit.Value); err == nil && strings.Contains(strings.TrimSpace(text), " ") {
			add(lit.Pos(), text)
		}
		return true
	})
	slices.SortFunc(list, func(a, b passage) int { return a.line - b.line })
	return list
}

// wordRule is a privateTerm, compiled.
type wordRule struct {
	phrase, except *regexp.Regexp
	instead        string
}

// wordRules compiles the list.
func wordRules() []wordRule {
	rules := make([]wordRule, len(privateTerms))
	for i, p := range privateTerms {
		rules[i] = wordRule{phrase: regexp.MustCompile(`(?i)\b(?:` + p.phrase + `)\b`), instead: p.instead}
		if p.except != "" {
			rules[i].except = regexp.MustCompile(p.except)
		}
	}
	return rules
}

// found is the phrase of the rule in a line, empty without one; names in `quotes` and
// targets of links are no prose.
func (r wordRule) found(line string) string {
	line = linkTarget.ReplaceAllString(codeSpan.ReplaceAllString(line, "``"), "]")
	if r.except != nil {
		line = r.except.ReplaceAllString(line, "")
	}
	return r.phrase.FindString(line)
}

// What the field has a name for is called by that name, in every text that a person reads.
func TestPrivateTermsDoNotComeBack(t *testing.T) {
	rules, passages := wordRules(), prose(t)
	if len(passages) < 20_000 {
		t.Fatalf("only %d lines of prose were found", len(passages))
	}
	var phrases []string
	for _, p := range privateTerms {
		phrases = append(phrases, p.phrase)
	}
	any := regexp.MustCompile(`(?i)\b(?:` + strings.Join(phrases, "|") + `)\b`) // most lines have none: they are read once
	for _, p := range passages {
		if !any.MatchString(p.text) {
			continue
		}
		for _, r := range rules {
			if found := r.found(p.text); found != "" {
				t.Errorf("%s:%d: %q: write %s", p.file, p.line, found, r.instead)
			}
		}
	}
}

// The rules find a phrase in prose, and leave names, links and other words alone.
func TestPrivateTermsAreFound(t *testing.T) {
	for line, want := range map[string]string{
		"The methods cannot be told apart.":             "told",
		"rollouts 16 updates old":                       "updates old",
		"Measured dose by dose":                         "dose",
		"a test that finds it 8 times of 10":            "8 times of 10",
		"names the place and the remedy":                "remedy",
		"what it does beside the loss":                  "beside",
		"The run is resumed; an untold story":           "",
		"`simulate measure --doses`":                    "",
		"see [the table](doses/doses.md) of levels":     "",
		"A secure connection, accurate to eight digits": "",
	} {
		got := ""
		for _, r := range wordRules() {
			if got = r.found(line); got != "" {
				break
			}
		}
		if got != want {
			t.Errorf("%q: found %q, want %q", line, got, want)
		}
	}
}
