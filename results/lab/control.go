package lab

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"driftlab/results"
)

// Choose returns the values of the lesson's controls: those given as KEY=VALUE, else the lesson's own.
func (l *Lesson) Choose(given []string) (map[string]string, error) {
	out := map[string]string{}
	var keys []string
	for _, k := range l.Controls {
		out[k.Key], keys = k.Value, append(keys, k.Key)
	}
	for _, with := range given {
		key, value, _ := strings.Cut(with, "=")
		i := slices.Index(keys, key)
		if i < 0 {
			return nil, fmt.Errorf("%s: the lesson %s has the controls %s", with, l.Name, strings.Join(keys, ", "))
		}
		var values []string
		for _, o := range l.Controls[i].Options {
			values = append(values, o.Value)
		}
		if !slices.Contains(values, value) {
			return nil, fmt.Errorf("%s: %s is one of %s", with, key, strings.Join(values, ", "))
		}
		out[key] = value
	}
	return out, nil
}

// Assignments are those of the live run with the controls' values set in; a pair of engines stands for
// rollout and learner.
func (l *Lesson) Assignments(chosen map[string]string) []string {
	values := maps.Clone(chosen)
	if rollout, learner, ok := strings.Cut(chosen["pair"], "/"); ok {
		values["rollout"], values["learner"] = rollout, learner
	}
	var out []string
	for _, s := range l.Live.Set {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			s = strings.ReplaceAll(s, "{"+key+"}", values[key])
		}
		out = append(out, s)
	}
	return out
}

// document is what TestDocument made of lessons/ and results/published.
//
//go:embed lab.json
var document []byte

//go:generate go test -run ^TestDocument$ -update

// publishedFile is lab.json, as the page loads it.
func publishedFile() []byte { return document }

// Load reads the lessons that the program was released with.
var Load = sync.OnceValue(func() *Document {
	var d Document
	if err := json.Unmarshal(document, &d); err != nil {
		panic(fmt.Sprint("lab.json: ", err)) // TestDocument makes it
	}
	return &d
})

// Lesson is the one of that name, nil for none.
func (d *Document) Lesson(name string) *Lesson {
	for i := range d.Lessons {
		if d.Lessons[i].Name == name {
			return &d.Lessons[i]
		}
	}
	return nil
}

// DiagnosePage is the name of Diagnose's page in the site.
const DiagnosePage = "diagnose.html"

// Diagnose is the page that diagnoses dumps of real runs, with its program in it: one file that opens from a disk, too. The
// browser allows it no request at all. home says that the lab's page stands next to it.
func Diagnose(p Program, home bool) []byte {
	paper := results.SharedPaper()
	style, script := paper.Style+"\n"+source("diagnose.css"), source("diagnose.js")
	var out bytes.Buffer
	err := diagnosePage.Execute(&out, map[string]any{
		"Policy": policyOf(sums(early, script)+" 'wasm-unsafe-eval'", style, "'none'"), "Style": template.CSS(style), "Early": template.JS(early), "Script": template.JS(script),
		"Worker":  template.HTML(inScript(string(p.Support) + "\n" + source("worker.js"))),
		"Program": template.HTML(`"` + quotable(p.Diagnose) + `"`), "Home": home,
	})
	if err != nil {
		panic("lab: " + err.Error()) // writing to memory cannot fail
	}
	return out.Bytes()
}

var diagnosePage = template.Must(template.New("").Parse(source("diagnose.html")))

// Expected says what a guess is to be.
func (g Guess) Expected() string {
	switch g.Kind {
	case "share":
		return "a percentage from 0 to 100"
	case "decade":
		return fmt.Sprintf("a power of ten from 1e%g to 1e%g", g.Low, g.High)
	case "curve":
		return fmt.Sprintf("%d percentages, at %s", len(g.X), strings.Trim(fmt.Sprint(g.X), "[]"))
	case "choice":
		return fmt.Sprintf("a number from 1 to %d", len(g.Options))
	case "rank":
		return fmt.Sprintf("the numbers 1 to %d in your order", len(g.Options))
	}
	return strings.TrimSpace(fmt.Sprintf("a number from %g to %g %s", g.Low, g.High, g.Unit))
}

// Parse reads a guess and returns it in words, or says what was expected.
func (g Guess) Parse(text string) (string, error) {
	switch g.Kind {
	case "share":
		share, err := percentage(text)
		return fmt.Sprintf("%.3g %%", share), err
	case "decade":
		text = strings.TrimPrefix(strings.Replace(text, "10^", "1e", 1), "1e")
		power, err := strconv.Atoi(text)
		if err != nil || float64(power) < g.Low || float64(power) > g.High {
			return "", fmt.Errorf("expected %s", g.Expected())
		}
		return fmt.Sprintf("1e%d", power), nil
	case "curve":
		words := splitWords(strings.ReplaceAll(text, "%", " "))
		if len(words) != len(g.X) {
			return "", fmt.Errorf("expected %d percentages, found %d", len(g.X), len(words))
		}
		for i, word := range words {
			share, err := percentage(word)
			if err != nil {
				return "", err
			}
			words[i] = fmt.Sprintf("%.3g %% at %g", share, g.X[i])
		}
		return strings.Join(words, ", "), nil
	case "choice":
		return g.option(text)
	case "rank":
		var ranked []string
		for _, word := range splitWords(text) {
			name, err := g.option(word)
			if err != nil {
				return "", err
			}
			if slices.Contains(ranked, name) {
				return "", fmt.Errorf("%s occurs twice", word)
			}
			ranked = append(ranked, name)
		}
		if len(ranked) != len(g.Options) {
			return "", fmt.Errorf("expected %s", g.Expected())
		}
		return strings.Join(ranked, ", then "), nil
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(text, g.Unit)), 64)
	if err != nil || !(x >= g.Low && x <= g.High) {
		return "", fmt.Errorf("expected %s", g.Expected())
	}
	return strings.TrimSpace(fmt.Sprintf("%g %s", x, g.Unit)), nil
}

// percentage reads a share, with or without its sign.
func percentage(text string) (float64, error) {
	x, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(text, "%")), 64)
	if err != nil || math.IsNaN(x) || x < 0 || x > 100 {
		return 0, fmt.Errorf("expected a percentage from 0 to 100")
	}
	return x, nil
}

// option reads one of a guess's options, by its number or its name.
func (g Guess) option(text string) (string, error) {
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(g.Options) {
		return g.Options[n-1], nil
	}
	for _, o := range g.Options {
		if strings.EqualFold(o, text) {
			return o, nil
		}
	}
	return "", fmt.Errorf("expected %s", g.Expected())
}

// splitWords are words with spaces or commas between them.
func splitWords(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' })
}
