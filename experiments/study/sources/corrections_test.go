package sources_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"driftlab/experiments/study/sources"
)

var update = flag.Bool("update", false, "write the published page again")

// publishedTable is the folder of the published table.
var publishedTable = filepath.Join("..", "..", "..", "results", "published", "table")

// correctionsData are the figures that the page's script sorts and filters by.
type correctionsData struct {
	Problems []string
	Settings []struct {
		Name, Family string
		Frameworks   []string
		SameAs       string `json:"same_as"`
		Inactive     []int
		Regret       [4]float64
		Effects      [][5]*float64
	}
}

// corrections are the published effects and their page, made once.
var corrections = sync.OnceValues(func() (page string, effects *sources.Effects) {
	effects, err := sources.PublishedEffects()
	if err != nil {
		panic(err)
	}
	p, err := effects.Corrections()
	if err != nil {
		panic(err)
	}
	return string(p.HTML()), effects
})

// correctionsPage is the page of the published effects, with its data.
func correctionsPage(t *testing.T) (string, *sources.Effects, correctionsData) {
	t.Helper()
	page, effects := corrections()
	_, text, _ := strings.Cut(page, `<script type="application/json">`)
	text, _, _ = strings.Cut(text, "</script>")
	var data correctionsData
	if err := json.Unmarshal([]byte(text), &data); err != nil {
		t.Fatal(err)
	}
	return page, effects, data
}

// The published page is the one that the published effects make.
func TestPublishedCorrections(t *testing.T) {
	page, _, _ := correctionsPage(t)
	path := filepath.Join(publishedTable, "corrections.html")
	if *update {
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(text, []byte(page)) {
		t.Fatalf("%s is not what the effects, the methods and the frameworks make (%v): run this test with -update", path, err)
	}
}

// Without the script the page has a table for each problem and one for all of them, every
// setting in each, the best first, and what is read there is the data.
func TestCorrectionsAreReadableWithoutScript(t *testing.T) {
	page, effects, data := correctionsPage(t)
	cell := regexp.MustCompile(`<tr data-setting="(\d+)"[^>]*><th scope="row"><a href="#setting-([^"]+)">[^<]+</a>.*?</th><td>([^<]*)</td><td class="num">(?:<span aria-hidden="true">([^<]) </span>)?([^<]+)<span class="hidden">|<tr data-setting="(\d+)"[^>]*><th scope="row"><a href="#setting-([^"]+)">[^<]+</a>.*?</th><td>([^<]*)</td><td class="num">()([^<]+)</td>`)
	interval := regexp.MustCompile(`</svg> ([^<]+)</td><td class="num">([^<]*)</td>`)
	sections := strings.Split(page, `<section class="problem" data-problem="`)[1:]
	if len(sections) != len(data.Problems)+1 {
		t.Fatalf("%d tables for %d problems and all of them", len(sections), len(data.Problems))
	}
	for j, section := range sections {
		lines := slices.DeleteFunc(strings.Split(section, "\n"), func(line string) bool { return !strings.HasPrefix(line, `<tr data-setting=`) })
		if len(lines) != len(data.Settings) {
			t.Fatalf("problem %d has %d rows, want %d", j, len(lines), len(data.Settings))
		}
		last := math.Inf(1)
		for _, line := range lines {
			m := cell.FindStringSubmatch(line)
			ends := interval.FindStringSubmatch(line)
			if m == nil || ends == nil {
				t.Fatalf("a row that cannot be read: %s", line)
			}
			if m[1] == "" {
				m = append(m[:1], m[6:]...)
			}
			i, _ := strconv.Atoi(m[1])
			s := data.Settings[i]
			if html.UnescapeString(m[2]) != s.Name || m[3] != s.Family {
				t.Errorf("row %d is of %s, want %s", i, m[2], s.Name)
			}
			var figure, range_ string
			var value float64
			if j < len(data.Problems) {
				e := s.Effects[j]
				value = *e[0]
				figure, range_ = fmt.Sprintf("%+.2f", *e[0]), fmt.Sprintf("%+.2f to %+.2f", *e[1], *e[2])
				mark := map[float64]string{1: "↑", -1: "↓"}[*e[4]]
				if slices.Contains(s.Inactive, j) {
					mark, range_ = "=", "cannot act"
				}
				if s.Name == "none" {
					range_ = "reference"
				}
				if m[4] != mark {
					t.Errorf("%s under %s: mark %q, want %q", s.Name, data.Problems[j], m[4], mark)
				}
			} else {
				value = -s.Regret[0] // the lowest first
				figure, range_ = fmt.Sprintf("%.2f", s.Regret[0]), fmt.Sprintf("%.2f to %.2f", s.Regret[1], s.Regret[2])
			}
			if html.UnescapeString(m[5]) != figure || html.UnescapeString(ends[1]) != range_ {
				t.Errorf("%s in table %d: %s (%s), want %s (%s)", s.Name, j, m[5], ends[1], figure, range_)
			}
			if value > last {
				t.Errorf("%s in table %d: not in order", s.Name, j)
			}
			last = value
		}
		recommended := regexp.MustCompile(`Recommended setting: <a href="#setting-([^"]+)">`).FindStringSubmatch(section)
		switch {
		case j == len(data.Problems):
			if recommended == nil || recommended[1] != effects.Settings[0].Name {
				t.Errorf("all problems: recommended %v, want %s", recommended, effects.Settings[0].Name)
			}
		case effects.Stressors[j].Healthy:
			if recommended != nil {
				t.Errorf("%s: recommended %v where nothing is to correct", data.Problems[j], recommended)
			}
		case recommended == nil || recommended[1] != effects.Stressors[j].Recommended:
			t.Errorf("%s: recommended %v, want %s", data.Problems[j], recommended, effects.Stressors[j].Recommended)
		}
	}
}

// Every setting but the control has its line and an explanation, and every link leads to
// something on the page.
func TestCorrectionsAreExplained(t *testing.T) {
	page, effects, _ := correctionsPage(t)
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(page, -1) {
		if ids[m[1]] {
			t.Errorf("two parts have the id %s", m[1])
		}
		ids[m[1]] = true
	}
	for _, m := range regexp.MustCompile(` href="#([^"]+)"`).FindAllStringSubmatch(page, -1) {
		if !ids[m[1]] {
			t.Errorf("nothing has the id %s", m[1])
		}
	}
	for _, s := range effects.Settings {
		_, own, _ := strings.Cut(page, `id="setting-`+s.Name+`"`)
		own, _, _ = strings.Cut(own, "</section>")
		if s.Name == "none" {
			continue
		}
		if !strings.Contains(own, `<pre tabindex="0" data-for="recipe"><code>`+html.EscapeString(sources.RecipeLine(s.Recipe))+`</code>`) {
			t.Errorf("%s has no line for a recipe: %.300s", s.Name, own)
		}
		if !strings.Contains(own, `Explained below: <a href="#`) {
			t.Errorf("%s is not explained", s.Name)
		}
	}
}
