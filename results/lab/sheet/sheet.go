// Package sheet is the lab on paper: a worksheet, its answers and a page for teachers,
// made of the lessons' data.
//
// What it is not: it knows no figure and no lesson; whatever stands on the sheets is in
// the document.
package sheet

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"driftlab/results/lab"
)

//go:embed *.html sheet.css
var files embed.FS

// Names are the files of the sheets.
var Names = []string{"answers.html", "teacher.html", "worksheet.html"}

// Files are the sheets of the lessons by name, one of Names. Each stands alone: it loads nothing.
func Files(d *lab.Document) map[string][]byte {
	css, _ := files.ReadFile("sheet.css") // it is embedded
	t := template.Must(template.New("").Funcs(template.FuncMap{
		"css":       func() template.CSS { return template.CSS(css) },
		"axes":      axes,
		"tables":    tableRows,
		"increment": func(i int) int { return i + 1 },
		"minutes":   minutes,
		"only":      only,
	}).ParseFS(files, "*.html"))
	out := map[string][]byte{}
	for _, name := range Names {
		var b bytes.Buffer
		if err := t.ExecuteTemplate(&b, name, d); err != nil {
			panic("sheet: " + err.Error()) // a test makes those of the published lessons
		}
		out[name] = b.Bytes()
	}
	return out
}

func minutes(lessons []lab.Lesson) (sum int) {
	for _, l := range lessons {
		sum += l.Minutes
	}
	return sum
}

// short are the lessons of the cut for 45 minutes.
var short = []string{"gap", "policies", "age"}

// only are the lessons of the short plan.
func only(lessons []lab.Lesson) []lab.Lesson {
	return slices.DeleteFunc(slices.Clone(lessons), func(l lab.Lesson) bool { return !slices.Contains(short, l.Name) })
}

type row struct {
	Name  string
	Cells []string
}

// tableRows are the rows of a lesson's table, filled in or empty.
func tableRows(t lab.SheetTable, filled bool) ([]row, error) {
	if len(t.Answers) != len(t.Rows) {
		return nil, fmt.Errorf("%d rows and %d answers", len(t.Rows), len(t.Answers))
	}
	var out []row
	for i, name := range t.Rows {
		if len(t.Answers[i]) != len(t.Head)-1 {
			return nil, fmt.Errorf("row %s: %d answers under %d headings", name, len(t.Answers[i]), len(t.Head)-1)
		}
		cells := make([]string, len(t.Answers[i]))
		if filled {
			cells = t.Answers[i]
		}
		out = append(out, row{name, cells})
	}
	return out, nil
}

// The paper of empty axes, in pixels.
const (
	axesWidth, axesHeight = 460, 170
	axesLeft, axesBottom  = 46, 34
)

// axes are empty ones to draw a guess on: ticks are evenly spaced, as they are given,
// which makes lengths that double a log axis.
func axes(a *lab.Axes) template.HTML {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" role="img" aria-label="Empty axes: %s over %s">`, axesWidth, axesHeight, template.HTMLEscapeString(a.Y), template.HTMLEscapeString(a.X))
	width, height := axesWidth-axesLeft-12, axesHeight-axesBottom-10
	base := axesHeight - axesBottom
	for i, x := range a.XTick {
		at := axesLeft + width*i/max(len(a.XTick)-1, 1)
		fmt.Fprintf(&b, `<line class="grid" x1="%d" y1="10" x2="%d" y2="%d"/><text x="%d" y="%d" text-anchor="middle">%g</text>`, at, at, base, at, base+13, x)
	}
	for i, y := range a.YTick {
		at := base - height*i/max(len(a.YTick)-1, 1)
		fmt.Fprintf(&b, `<line class="grid" x1="%d" y1="%d" x2="%d" y2="%d"/><text x="%d" y="%d" text-anchor="end">%g</text>`, axesLeft, at, axesLeft+width, at, axesLeft-5, at+4, y)
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">%s</text>`, axesLeft+width/2, axesHeight-4, template.HTMLEscapeString(a.X))
	fmt.Fprintf(&b, `<text x="11" y="%d" text-anchor="middle" transform="rotate(-90 11 %d)">%s</text></svg>`, base-height/2, base-height/2, template.HTMLEscapeString(a.Y))
	return template.HTML(b.String())
}
