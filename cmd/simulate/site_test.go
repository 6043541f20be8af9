package main

import (
	"html"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"driftlab/experiments/study"
	"driftlab/experiments/study/claims"
	"driftlab/precision/must"
	"driftlab/results"
	"driftlab/results/lab"
	"driftlab/results/stability"
	"driftlab/trainer/recipe"
)

// siteFiles are the files of the site, with an empty program for the pages that compute.
func siteFiles(t *testing.T) map[string]string {
	t.Helper()
	pages := siteReports()
	rest := labFiles(lab.Program{}, results.Part{}, lab.SitePage)
	files := map[string]string{}
	for i := range pages {
		files[pages[i].Site] = string(pages[i].HTML())
	}
	for _, f := range rest {
		files[f.Name] = string(f.Data)
	}
	return files
}

// TestSiteLinks: every link of every page leads to a file of the site and to an anchor in it, and no page has an address elsewhere.
func TestSiteLinks(t *testing.T) {
	files := siteFiles(t)
	link, anchor := regexp.MustCompile(`(?:href|src)="([^"]*)"`), regexp.MustCompile(` id="([^"]*)"`)
	anchors := map[string]bool{}
	for name, text := range files {
		for _, id := range anchor.FindAllStringSubmatch(text, -1) {
			if at := name + "#" + html.UnescapeString(id[1]); anchors[at] {
				t.Errorf("%s: twice", at)
			} else {
				anchors[at] = true
			}
		}
	}
	links := 0
	for name, text := range files {
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			to := html.UnescapeString(found[1])
			if strings.HasPrefix(to, "data:") || strings.Contains(to, "' +") { // or in a script
				continue
			}
			links++
			u, err := url.Parse(to)
			if err != nil || u.Host != "" || u.Scheme != "" {
				t.Errorf("%s leads to %s", name, to)
				continue
			}
			at := name
			if u.Path != "" {
				at = u.Path
			}
			if _, ok := files[at]; !ok || u.Fragment != "" && !anchors[at+"#"+u.Fragment] {
				t.Errorf("%s leads to %s, which is not there", name, to)
			}
		}
		if strings.HasSuffix(name, ".html") && !strings.Contains(text, siteMark) && name != "answers.html" && name != "teacher.html" && name != "worksheet.html" {
			t.Errorf("%s has no navigation", name)
		}
	}
	if links < 2000 {
		t.Errorf("only %d links", links)
	}
}

// TestSiteHasAll: every claim, method and cell of the map stands on the site, each cell with a command that makes it.
func TestSiteHasAll(t *testing.T) {
	files := siteFiles(t)
	for _, id := range claims.IDs() {
		if page := files["claim-"+id+".html"]; !strings.Contains(page, "reproduce "+id+" --quick") || !strings.Contains(page, "<img") {
			t.Errorf("the page of %s lacks its command or its picture", id)
		}
	}
	methods := html.UnescapeString(files["methods.html"])
	for _, m := range recipe.Methods() {
		if !strings.Contains(methods, `id="`+m.Field+"-"+m.Name+`"`) {
			t.Errorf("no method %s", m.Name)
		}
	}
	m := stability.Published()
	cells := 0
	for _, s := range m.Studies {
		plan := shippedPlan("stability/" + s.Name)
		for _, a := range s.Arms {
			cells += len(a.Rates)
		}
		for _, c := range regexp.MustCompile(`data-command="\./simulate sweep stability/`+s.Name+` --only (.*?)"`).FindAllStringSubmatch(files["map.html"], -1) {
			cells--
			condition, err := study.ParseCondition(strings.Trim(html.UnescapeString(c[1]), "'"))
			if err == nil {
				err = plan.Check(condition)
			}
			if err != nil {
				t.Errorf("%s: %v", c[0], err)
			}
		}
	}
	if cells != 0 {
		t.Errorf("%d cells of the map have no command", cells)
	}
}

// TestSiteKeepsForeignFiles: a page that the site has not written is not overwritten; where there is no program, one line says so.
func TestSiteKeepsForeignFiles(t *testing.T) {
	t.Chdir(t.TempDir()) // no checkout
	for _, c := range []struct {
		file, text string
		refused    bool
	}{{"claims.html", "<h1>mine</h1>", true}, {"claims.html", siteMark, false}, {"mine.html", "<h1>mine</h1>", false}} {
		dir := t.TempDir()
		must.Do(t, os.WriteFile(filepath.Join(dir, c.file), []byte(c.text), 0o666))
		var stdout, stderr strings.Builder
		status := run([]string{"site", "--out", dir}, &stdout, &stderr)
		if kept, err := os.ReadFile(filepath.Join(dir, c.file)); err != nil || string(kept) != c.text {
			t.Errorf("%s: %q, %v", c.file, kept, err)
		}
		if status != statusBadInput || strings.Count(stderr.String(), "\n") != 1 || strings.Contains(stderr.String(), "not of the lab or the site") != c.refused {
			t.Errorf("%s: status %d, %q", c.file, status, stderr.String())
		}
	}
}
