package table_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"driftlab/experiments/sweep"
	"driftlab/experiments/table"
)

var update = flag.Bool("update", false, "write the confirmation's file anew")

// The best and the worst of a group are those of least and greatest regret, the earlier
// of equal ones, of those that acted.
func TestChoose(t *testing.T) {
	s := two()
	for i := range s.Runs {
		if s.Runs[i].Values["method"] != "none" {
			s.Runs[i].Values["group"] = "masks"
		} else {
			s.Runs[i].Values["group"] = "control"
		}
	}
	list := s.Rank().Methods
	if got := table.Choose(list); len(got) != 1 || got[0] != (table.Choice{Group: "masks", Best: "x", Worst: "z"}) {
		t.Errorf("chose %+v", got)
	}
	for i := range list {
		list[i].Acted = list[i].Method == "y"
	}
	if got := table.Choose(list); len(got) != 1 || got[0] != (table.Choice{Group: "masks", Best: "y"}) {
		t.Errorf("chose %+v where y alone acted", got)
	}
}

// The lines of a confirmation's file between which the chosen methods stand.
const (
	choiceOpens  = "      # chosen by the screen:\n"
	choiceCloses = "      # end of the choice.\n"
)

// confirmation is the file of the confirmation with what was chosen, each method as the
// screen's file has it, unless it stands there anyway.
func confirmation(file, screen []byte, chosen []table.Choice) ([]byte, error) {
	head, rest, ok := bytes.Cut(file, []byte(choiceOpens))
	_, tail, closed := bytes.Cut(rest, []byte(choiceCloses))
	if !ok || !closed {
		return nil, fmt.Errorf("table: the confirmation's file lacks %q or %q", strings.TrimSpace(choiceOpens), strings.TrimSpace(choiceCloses))
	}
	out := append(bytes.Clone(head), choiceOpens...)
	for _, c := range chosen {
		for _, name := range []string{c.Best, c.Worst} {
			if name == "" || methodLine(head, name) != nil {
				continue
			}
			line := methodLine(screen, name)
			if line == nil {
				return nil, fmt.Errorf("table: the screen's file has no method %s", name)
			}
			out = append(append(out, line...), '\n')
		}
	}
	return append(append(out, choiceCloses...), tail...), nil
}

// methodLine is the line of a file that begins the value of that name; nil for none.
func methodLine(file []byte, name string) []byte {
	for line := range bytes.Lines(file) {
		line = bytes.TrimRight(line, "\n")
		rest, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("- {name: "+name))
		if ok && len(rest) > 0 && (rest[0] == ',' || rest[0] == '}') {
			return line
		}
	}
	return nil
}

// What is chosen comes between the marks, once, as the screen has it; what people ask
// about anyway does not come twice.
func TestConfirmation(t *testing.T) {
	file := []byte("values:\n      - {name: asked, set: {a: 1}}\n      # chosen by the screen:\n      - {name: old}\n      # end of the choice.\nrest\n")
	screen := []byte("      - {name: asked, set: {a: 1}}\n      - {name: new-2}\n      - {name: new, set: {b: 2}}\n")
	choice := []table.Choice{{Group: "g", Best: "new", Worst: "asked"}}
	got, err := confirmation(file, screen, choice)
	want := "values:\n      - {name: asked, set: {a: 1}}\n      # chosen by the screen:\n      - {name: new, set: {b: 2}}\n      # end of the choice.\nrest\n"
	if err != nil || string(got) != want {
		t.Errorf("%v, %s", err, got)
	}
	if again, err := confirmation(got, screen, choice); err != nil || !bytes.Equal(again, got) {
		t.Errorf("a second time it changes: %v\n%s", err, again)
	}
	if _, err := confirmation(file, screen, []table.Choice{{Best: "nobody"}}); err == nil {
		t.Error("a method that the screen lacks was confirmed")
	}
	if _, err := confirmation(screen, screen, choice); err == nil {
		t.Error("a file without marks was taken")
	}
}

// The confirmation runs what the published screen chose, once that is whole.
func TestConfirmIsChosenByTheScreen(t *testing.T) {
	dir := filepath.Join("..", "..", "results", "published", "table", "screen")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no screen is published")
	}
	done, err := sweep.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if planned := done.Cells(); len(done.Rows) < planned {
		t.Skipf("%d of %d cells of the screen are there: nothing is chosen before all are", len(done.Rows), planned)
	}
	s := table.Stage{Name: "screen", Index: done.Index, Runs: done.Rows}
	screen, _ := table.Text("screen")
	file, _ := table.Text("confirm")
	want, err := confirmation(file, screen, table.Choose(s.Rank().Methods))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(want, file) {
		return
	}
	if !*update {
		t.Fatal("sweeps/confirm.yaml is not what the published screen chooses: run this test with -update")
	}
	if err := os.WriteFile(filepath.Join("sweeps", "confirm.yaml"), want, 0o644); err != nil {
		t.Fatal(err)
	}
}
