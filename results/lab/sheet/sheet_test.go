package sheet

import (
	"encoding/xml"
	"io"
	"slices"
	"strings"
	"testing"

	"driftlab/results/lab"
)

// TestFiles: the worksheet asks every question and gives no answer away; the answers
// have all of them; no sheet loads anything.
func TestFiles(t *testing.T) {
	d := lab.Load()
	sheets := Files(d)
	worksheet, answers, teacher := text(t, sheets["worksheet.html"]), text(t, sheets["answers.html"]), text(t, sheets["teacher.html"])
	for _, l := range d.Lessons {
		if !strings.Contains(worksheet, l.Question) {
			t.Errorf("%s: the worksheet does not ask %q", l.Name, l.Question)
		}
		if !strings.Contains(answers, l.Aha) || strings.Contains(worksheet, l.Aha) {
			t.Errorf("%s: the answers must have %q, the worksheet must not", l.Name, l.Aha)
		}
		if !strings.Contains(teacher, l.Teach.Misconception) || !strings.Contains(teacher, l.Aha) {
			t.Errorf("%s: not on the teacher's page", l.Name)
		}
		for _, e := range l.Exercise {
			if !strings.Contains(worksheet, e.Ask) || strings.Contains(worksheet, e.Answer) || !strings.Contains(answers, e.Answer) {
				t.Errorf("%s: exercise %q", l.Name, e.Ask)
			}
		}
		for _, row := range l.Sheet.Table.Answers {
			for _, cell := range row {
				if !strings.Contains(answers, cell) {
					t.Errorf("%s: the answers have no %q", l.Name, cell)
				}
			}
		}
	}
	if got := minutes(d.Lessons); got > 90 || !strings.Contains(teacher, "of ninety minutes") {
		t.Errorf("the plan takes %d minutes", got)
	}
	if cut := only(d.Lessons); len(cut) != len(short) || minutes(cut) > 45 {
		t.Errorf("the cut takes %d minutes with %d lessons", minutes(cut), len(cut))
	}
	for name, page := range sheets {
		for _, loads := range []string{"<script", "src=", "href=", "@import", "url("} {
			if strings.Contains(string(page), loads) {
				t.Errorf("%s has %s", name, loads)
			}
		}
	}
}

// text is what a page says, and fails where its elements do not close.
func text(t *testing.T, page []byte) string {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(string(page)))
	d.Strict, d.Entity, d.AutoClose = false, xml.HTMLEntity, xml.HTMLAutoClose
	var b strings.Builder
	for {
		token, err := d.Token()
		if err == io.EOF {
			return b.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := token.(xml.CharData); ok {
			b.Write(c)
		}
	}
}

// TestTables: a table whose answers do not fit its head is an error, not a gap.
func TestTables(t *testing.T) {
	for _, c := range []struct {
		table lab.SheetTable
		fits  bool
	}{
		{lab.SheetTable{Head: []string{"", "a"}, Rows: []string{"x"}, Answers: [][]string{{"1"}}}, true},
		{lab.SheetTable{Head: []string{"", "a"}, Rows: []string{"x"}, Answers: [][]string{{"1", "2"}}}, false},
		{lab.SheetTable{Head: []string{"", "a"}, Rows: []string{"x", "y"}, Answers: [][]string{{"1"}}}, false},
	} {
		rows, err := tableRows(c.table, true)
		if (err == nil) != c.fits {
			t.Errorf("%+v: %v", c.table, err)
		}
		if c.fits && !slices.Equal(rows[0].Cells, []string{"1"}) {
			t.Errorf("rows %+v", rows)
		}
	}
}
