// Package sources says what the program has of papers and of the texts that it started from, with the published results that answer them.
package sources

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/template"

	"driftlab/experiments/study/claims"
	"driftlab/experiments/study/judge"
	"driftlab/results/figure"
	"driftlab/results/published"
	"driftlab/results/record"
	"driftlab/results/stability"
)

// coverageText is the list of features and statements, a line each; its first line names the columns.
//
//go:embed coverage.tsv
var coverageText string

// pageTemplates are pages of Markdown.
//
//go:embed *.md.tmpl
var pageTemplates embed.FS

// coverageSource is a text that the list is about, and its page.
type coverageSource struct{ id, page, name string }

// coverageSources are the sources of the list's lines "# source", in the order of the pages.
var coverageSources = sync.OnceValue(func() (list []coverageSource) {
	for _, m := range regexp.MustCompile(`(?m)^# source (\S+) (\S+) (.+)$`).FindAllStringSubmatch(coverageText, -1) {
		list = append(list, coverageSource{m[1], m[2], m[3]})
	}
	return list
})

// Covered is a feature or a statement of a source, and what the program has of it.
type Covered struct {
	Kind   string `json:"kind"` // feature or statement
	Source string `json:"source"`
	// Topic is the heading in the list that the item stands below.
	Topic string `json:"topic"`
	Item  string `json:"item"`
	// Answers are commands, claims, checks of claims, arms of the map of stability, unit tests and readings of a published page; Found
	// says what each came to.
	Answers []string `json:"answers"`
	Found   []string `json:"found"`
	// Limit is what is missing; without an answer, why.
	Limit string `json:"limit"`
}

// state is whether there is an answer.
func (c Covered) state() string {
	switch {
	case len(c.Answers) == 0 && c.Kind == "statement":
		return "not tested"
	case len(c.Answers) == 0:
		return "absent"
	case c.Limit != "":
		return "in part"
	case c.Kind == "statement":
		return "tested"
	}
	return "runs"
}

// Coverage is the list.
func Coverage() []Covered {
	list, err := ParseCoverage(coverageText)
	if err != nil {
		panic(err) // tests read it
	}
	return list
}

// ParseCoverage reads a list and looks every claim, check and arm up. It reads no command. Errors name the line.
func ParseCoverage(text string) (list []Covered, faults error) {
	topic := ""
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			topic = heading
		}
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 5 {
			return nil, fmt.Errorf("coverage.tsv:%d: %d columns, not 5", i+1, len(fields))
		}
		var err error
		c := Covered{Kind: fields[0], Source: fields[1], Topic: topic, Item: fields[2], Answers: []string{}, Found: []string{}, Limit: fields[4]}
		if fields[3] != "" {
			c.Answers = strings.Split(fields[3], " ; ")
		}
		switch {
		case c.Kind != "feature" && c.Kind != "statement":
			err = fmt.Errorf("kind %q", c.Kind)
		case !slices.ContainsFunc(coverageSources(), func(s coverageSource) bool { return s.id == c.Source }):
			err = fmt.Errorf("source %q", c.Source)
		case len(c.Answers) == 0 && c.Limit == "":
			err = fmt.Errorf("neither an answer nor the reason why there is none")
		}
		for _, a := range c.Answers {
			found, unknown := answer(a)
			if unknown != nil {
				err = unknown
			}
			c.Found = append(c.Found, found)
		}
		if err != nil {
			faults = errors.Join(faults, fmt.Errorf("coverage.tsv:%d: %s: %w", i+1, c.Item, err))
		}
		list = append(list, c)
	}
	return list, faults
}

// answer says what a published result came to; empty for a command.
func answer(a string) (string, error) {
	kind, rest, _ := strings.Cut(a, " ")
	switch kind {
	case "claim":
		c, ok := claims.Lookup(rest)
		if !ok {
			return "", fmt.Errorf("no claim %q", rest)
		}
		found := Verdict(c)
		if len(c.Rates) > 0 && Answering(OverLadder(c)) == nil {
			found += " at a learning rate of " + strings.Join(c.Rates, " and ")
		}
		return found, nil
	case "check":
		id, name, _ := strings.Cut(rest, ": ")
		return publishedCheck(id, name)
	case "map":
		return publishedArm(rest)
	case "reading":
		_, text, _ := strings.Cut(rest, ": ")
		return text, nil
	}
	return "", nil
}

// publishedCheck is the outcome of one check of a claim, at the first level that has it, in the words of the claim's page.
func publishedCheck(id, name string) (string, error) {
	ours, ok := published.Claims()[id]
	if !ok {
		return "", fmt.Errorf("claim %q is not published", id)
	}
	var of struct {
		Checks []struct {
			Name     string
			Outcome  judge.Mark
			Interval record.Floats `json:"estimate_low_high"`
		}
	}
	if err := json.Unmarshal(ours.Verdict, &of); err != nil {
		return "", err
	}
	for _, c := range of.Checks {
		if c.Name == name {
			outcome := strings.Replace(c.Outcome.Term(), "opposite", "significant in the opposite direction", 1)
			return fmt.Sprintf("%s, %.3g (%.3g to %.3g)", outcome, c.Interval[0], c.Interval[1], c.Interval[2]), nil
		}
	}
	return "", fmt.Errorf("%s has no check %q", id, name)
}

// publishedArm is what the map of stability has of a correction under a stressor: "staleness: 16, opsm-1e-4".
func publishedArm(name string) (string, error) {
	of, arm, _ := strings.Cut(name, ": ")
	stressor, method, _ := strings.Cut(arm, ", ")
	if s := stability.Published().Study(of); s != nil {
		if a := s.Arm(stressor, method); a != nil {
			return a.Effect(), nil
		}
	}
	return "", fmt.Errorf("the map of stability has no %q", name)
}

// CoverageCommand is an answer as a command of a shell, without the program's name; empty for a test and a reading.
func CoverageCommand(answer string) string {
	kind, rest, _ := strings.Cut(answer, " ")
	id, _, _ := strings.Cut(rest, ": ")
	switch kind {
	case "claim", "check":
		if c, _ := claims.Lookup(id); c.Study != "" {
			return "study " + c.Study + " --quick"
		}
		return "reproduce " + id + " --quick"
	case "map":
		return "study stability/" + id + " --quick"
	case "reading", "test":
		return ""
	}
	words := strings.Fields(answer)
	for i, w := range words {
		words[i] = record.ShellWord(w)
	}
	return strings.Join(words, " ")
}

// shown is an answer: its command or, linked, the page of its result; the check or the arm, and what it came to.
func shown(answer, found, mark string, linked bool) string {
	text := CoverageCommand(answer)
	if text != "" {
		text = mark + "./simulate " + text + mark
	}
	kind, rest, _ := strings.Cut(answer, " ")
	id, part, ok := strings.Cut(rest, ": ")
	if folder := map[string]string{"claim": "claims", "check": "claims", "map": "stability"}[kind]; folder != "" && linked {
		text = fmt.Sprintf("[%s](../%s/%s/README.md)", id, folder, id)
	}
	switch {
	case kind == "reading":
		text = "results/published/" + id
		if linked {
			text = fmt.Sprintf("[%s](../%s)", strings.TrimSuffix(id, "/README.md"), id)
		}
	case kind == "test":
		pkg, name, _ := strings.Cut(rest, " ")
		text = mark + "go test ./" + pkg + " -run " + name + mark
	case ok && (kind == "check" || kind == "map"):
		text += ", " + part
	}
	if found != "" {
		text += ": " + found
	}
	return text
}

// coverageTables are the tables of a source, one for each topic.
func coverageTables(list []Covered, source, mark string) (tables []*figure.Figure) {
	between := "; "
	if mark != "" {
		between = "<br>"
	}
	for _, c := range list {
		if c.Source != source {
			continue
		}
		title := c.Topic
		if n := len(tables); n == 0 || tables[n-1].Title != title {
			tables = append(tables, &figure.Figure{Kind: figure.Table, Title: title, Columns: []figure.Column{{Name: c.Kind}, {Name: "state"}, {Name: "command or result"}, {Name: "limit"}}})
		}
		var answers []string
		for i, a := range c.Answers {
			answers = append(answers, shown(a, c.Found[i], mark, mark != ""))
		}
		tables[len(tables)-1].Add(figure.Word(c.Item), figure.Word(c.state()), figure.Word(strings.Join(answers, between)), figure.Word(c.Limit))
	}
	return tables
}

// CoverageTables are the tables of all sources.
func CoverageTables(list []Covered) (tables []*figure.Figure) {
	for _, s := range coverageSources() {
		for _, t := range coverageTables(list, s.id, "") {
			t.Title = s.name + ": " + t.Title
			tables = append(tables, t)
		}
	}
	return tables
}

// padding is what sets the columns of a table below each other.
var padding = regexp.MustCompile(` +( \|)|-+(---\|)`)

// Page is a file of Markdown.
type Page struct{ Name, Text string }

// CoveragePages are the list as Markdown: an index, and a page for each source.
func CoveragePages(list []Covered) []Page {
	type row struct {
		Name, Page string
		Counts     []int
	}
	var rows []row
	pages := []Page{{Name: "seeds.md"}}
	for _, s := range coverageSources() {
		rows = append(rows, row{s.name, s.page, counts(slices.DeleteFunc(slices.Clone(list), func(c Covered) bool { return c.Source != s.id }))})
		text := "# " + strings.ToUpper(s.name[:1]) + s.name[1:] + "\n\n[All sources](../seeds.md)\n"
		for _, t := range coverageTables(list, s.id, "`") {
			text += "\n" + padding.ReplaceAllString(t.Markdown(), "$1$2")
		}
		pages = append(pages, Page{"seeds/" + s.page + ".md", text})
	}
	pages[0].Text = filled("coverage.md.tmpl", append(rows, row{Name: "all", Counts: counts(list)}))
	return pages
}

// counts are the features and those of each state, and the statements likewise.
func counts(list []Covered) (out []int) {
	for _, kind := range []string{"feature", "statement"} {
		of := map[string]int{}
		for _, c := range list {
			if c.Kind == kind {
				of[c.state()]++
				of[""]++
			}
		}
		out = append(out, of[""], of["runs"]+of["tested"], of["in part"], of["absent"]+of["not tested"])
	}
	return out
}

// filled is a page of the package, filled with data.
func filled(name string, data any) string {
	var b strings.Builder
	t := template.New(name).Funcs(template.FuncMap{"number": func(x float64) string { return figure.FormatNumber(x, 3) }})
	if err := template.Must(t.ParseFS(pageTemplates, name)).Execute(&b, data); err != nil {
		panic(err) // tests make every page
	}
	return b.String()
}
