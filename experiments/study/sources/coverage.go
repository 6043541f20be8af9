// Package sources says what the program has of papers and of the texts that it started from, with the published results that answer them.
package sources

import (
	_ "embed" // of the list
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"driftlab/experiments/study/claims"
	"driftlab/results"
	"driftlab/results/figure"
	"driftlab/results/stats"
)

// coverageText is the list of features and statements, a line each; its first line names the columns.
//
//go:embed coverage.tsv
var coverageText string

// coverageSources are the texts that the list is about, in the order of the page.
var coverageSources = []struct{ id, name string }{
	{"S0", "OPSM, a practitioner's account"},
	{"S1", "SkyRL, off-policy correction"},
	{"S2-off", "off-policy training, a practitioner's account"},
	{"S2-pass", "pass@k, a practitioner's account"},
	{"S2-proc", "process rewards, a practitioner's account"},
	{"S2-opd", "on-policy distillation, a practitioner's account"},
	{"S2-len", "response length, a practitioner's account"},
	{"S3", "three-policy trust region"},
	{"S4", "survey of training-inference mismatch"},
}

// Covered is a feature or a statement of a source, and what the program has of it.
type Covered struct {
	Kind   string `json:"kind"` // feature or statement
	Source string `json:"source"`
	Item   string `json:"item"`
	// Answers are commands, claims, checks of claims and signals; Found says what each came to.
	Answers []string `json:"answers"`
	Found   []string `json:"found"`
	// Limit is what is missing; without an answer, why.
	Limit string `json:"limit"`
}

// status summarises what there is.
func (c Covered) status() string {
	switch {
	case len(c.Answers) == 0 && c.Kind == "statement":
		return "not tested"
	case len(c.Answers) == 0:
		return "absent"
	}
	var said []string
	for _, f := range c.Found {
		if f != "" {
			said = append(said, f)
		}
	}
	if c.Kind == "feature" {
		runs := "runs"
		if c.Limit != "" {
			runs = "in part"
		}
		said = append([]string{runs}, said...)
	}
	return strings.Join(said, "; ")
}

// Coverage is the list.
func Coverage() ([]Covered, error) { return ParseCoverage(coverageText) }

// ParseCoverage reads a list and looks every claim, check and signal up. It reads no command. Errors name the line.
func ParseCoverage(text string) (list []Covered, faults error) {
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 5 {
			return nil, fmt.Errorf("coverage.tsv:%d: %d columns, not 5", i+1, len(fields))
		}
		var err error
		c := Covered{Kind: fields[0], Source: fields[1], Item: fields[2], Answers: []string{}, Found: []string{}, Limit: fields[4]}
		if fields[3] != "" {
			c.Answers = strings.Split(fields[3], " ; ")
		}
		switch {
		case c.Kind != "feature" && c.Kind != "statement":
			err = fmt.Errorf("kind %q", c.Kind)
		case sourceName(c.Source) == "":
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

// sourceName is the name of a source, empty for none of the list.
func sourceName(id string) string {
	for _, s := range coverageSources {
		if s.id == id {
			return s.name
		}
	}
	return ""
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
		return Verdict(c), nil
	case "check":
		id, name, _ := strings.Cut(rest, ": ")
		return publishedCheck(id, name)
	case "alarm":
		return publishedAlarm(rest)
	}
	return "", nil
}

// publishedCheck is the outcome of one check of a claim, at the first level that has it, in the words of the claim's page.
func publishedCheck(id, name string) (string, error) {
	text, ok := results.PublishedVerdict(id)
	if !ok {
		return "", fmt.Errorf("claim %q is not published", id)
	}
	var of struct {
		Checks []struct {
			Name     string `json:"name"`
			Outcome  string `json:"outcome"`
			Interval []any  `json:"estimate_low_high"` // an infinite one is a text
		} `json:"checks"`
	}
	if err := json.Unmarshal(text, &of); err != nil {
		return "", err
	}
	for _, c := range of.Checks {
		if c.Name != name {
			continue
		}
		said := map[string]string{"passed": "met", "failed": "not met", "open": "inconclusive", "contrary": "significant in the opposite direction", "reported": "reported"}[c.Outcome]
		if len(c.Interval) == 3 {
			var figures [3]string
			for i, x := range c.Interval {
				figures[i] = fmt.Sprint(x)
				if f, ok := x.(float64); ok {
					figures[i] = fmt.Sprintf("%.3g", f)
				}
			}
			said += fmt.Sprintf(", %s (%s to %s)", figures[0], figures[1], figures[2])
		}
		return said, nil
	}
	return "", fmt.Errorf("%s has no check %q", id, name)
}

// publishedAlarm says how often a signal fired before a collapse, and how often without one, or how well a predictor
// separates runs before a collapse from others: the median over the stressors that it was not fitted on.
func publishedAlarm(name string) (string, error) {
	all, err := PublishedAlarms()
	if err != nil {
		return "", err
	}
	for _, r := range all.Rules {
		if r.Name == name {
			return fmt.Sprintf("fires before %d of %d collapses, %.2g false alarms in 1000 updates", r.Rates.Detected, r.Rates.Of, r.Rates.FalseAlarms), nil
		}
	}
	for _, p := range all.Predictors {
		if p.Name == name {
			var each []float64
			for _, a := range p.AUROC {
				each = append(each, a.AUROC)
			}
			return fmt.Sprintf("AUROC %.2g (median of %d stressors)", stats.Median(each), len(each)), nil
		}
	}
	return "", fmt.Errorf("no signal is called %q", name)
}

// coverageCommand is an answer as a command to type.
func coverageCommand(a string) string {
	kind, rest, _ := strings.Cut(a, " ")
	switch kind {
	case "claim":
		return "reproduce " + rest
	case "check":
		id, name, _ := strings.Cut(rest, ": ")
		return "reproduce " + id + " (" + name + ")"
	case "alarm":
		return "diagnose (signal " + rest + ")"
	}
	return a
}

// CoverageTables are a table of features and one of statements.
func CoverageTables(list []Covered) []*figure.Figure {
	var tables []*figure.Figure
	for _, kind := range []struct{ name, title string }{{"feature", "Features"}, {"statement", "Statements"}} {
		t := &figure.Figure{Kind: figure.Table, Title: kind.title, Columns: []figure.Column{{Name: "source"}, {Name: kind.name}, {Name: "simulate ..."}, {Name: "status"}, {Name: "limit"}}}
		for _, source := range coverageSources {
			for _, c := range list {
				if c.Kind != kind.name || c.Source != source.id {
					continue
				}
				var commands []string
				for _, a := range c.Answers {
					if s := coverageCommand(a); !slices.Contains(commands, s) {
						commands = append(commands, s)
					}
				}
				t.Add(figure.Word(c.Source), figure.Word(c.Item), figure.Word(strings.Join(commands, "; ")), figure.Word(c.status()), figure.Word(c.Limit))
			}
		}
		tables = append(tables, t)
	}
	return tables
}

// CoveragePage is the list as Markdown.
func CoveragePage(list []Covered) string {
	var b strings.Builder
	b.WriteString("# Coverage of the sources\n\nWhat the program has of each feature and each testable statement of the texts that it started from. ")
	b.WriteString("A verdict or an outcome is read from [the published claims](claims/verdicts.md), a signal from runs of 100 updates ([history](table/README.md)). ")
	b.WriteString("A claim may judge a narrower question than the statement: its page says which. A row without a command says why.\n\n")
	for _, s := range coverageSources {
		fmt.Fprintf(&b, "- %s: %s\n", s.id, s.name)
	}
	counts := map[string]int{}
	for _, c := range list {
		counts[c.Kind]++
		if len(c.Answers) > 0 {
			counts[c.Kind+" answered"]++
			if c.Limit == "" {
				counts[c.Kind+" whole"]++
			}
		}
	}
	fmt.Fprintf(&b, "\n%d features: %d run, %d run in part, %d are absent. ", counts["feature"], counts["feature whole"], counts["feature answered"]-counts["feature whole"], counts["feature"]-counts["feature answered"])
	fmt.Fprintf(&b, "%d statements: %d have published figures, %d of these with a limit; %d are not tested.\n", counts["statement"], counts["statement answered"], counts["statement answered"]-counts["statement whole"], counts["statement"]-counts["statement answered"])
	for _, t := range CoverageTables(list) {
		fmt.Fprintf(&b, "\n%s", t.Markdown())
	}
	return b.String()
}
