package sweep

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"driftlab/results/record"
)

// IndexFile says what a sweep's folder is to hold.
const IndexFile = "sweep.json"

// Index is a grid without its recipes: what a folder needs to be read, reported and
// put together with others.
type Index struct {
	Name    string        `json:"name"`
	Seeds   []uint64      `json:"seeds"`
	Factors []IndexFactor `json:"factors"`
	Points  []IndexPoint  `json:"points"`
}

// IndexFactor is a factor: its values and the names of their labels.
type IndexFactor struct {
	Name   string   `json:"name"`
	Labels []string `json:"labels"`
	Values []string `json:"values"`
}

// IndexPoint is a point: its columns, how it is run alone but for the seed, and its
// runs by seed.
type IndexPoint struct {
	Values  map[string]string `json:"values"`
	Command string            `json:"command"`
	Steps   int               `json:"steps"`
	Runs    []string          `json:"runs"`
	// CannotAct are the notes of recipe.Recipe.Inert.
	CannotAct []string `json:"cannot_act,omitempty"`
}

// command runs a cell alone.
func (p *IndexPoint) command(seed uint64) string { return fmt.Sprintf("%s --seed %d", p.Command, seed) }

// Index is that of the grid.
func (g *Grid) Index() *Index {
	x := &Index{Name: g.Plan.Name, Seeds: g.Plan.Seeds, Factors: []IndexFactor{}}
	for _, f := range g.Plan.factors() {
		one := IndexFactor{Name: f.Name, Labels: append([]string{}, f.labels()...)}
		for _, v := range f.Values {
			one.Values = append(one.Values, v.Name)
		}
		x.Factors = append(x.Factors, one)
	}
	for i := range g.Cells {
		c := &g.Cells[i]
		if c.Point == len(x.Points) {
			x.Points = append(x.Points, IndexPoint{Values: c.Values, Command: g.Commands[c.Point], Steps: c.Recipe.Steps, CannotAct: g.CannotAct[c.Point]})
		}
		p := &x.Points[c.Point]
		p.Runs = append(p.Runs, c.Run)
	}
	return x
}

// keep gives the points that none of only names the runs that an older index has of them: a
// run's name depends on its model, and theirs may be missing.
func (x *Index) keep(old *Index, only []Condition) {
	if !slices.Equal(x.Seeds, old.Seeds) {
		return
	}
	runs := map[string][]string{}
	for _, p := range old.Points {
		runs[p.Command] = p.Runs
	}
	for i := range x.Points {
		if p := &x.Points[i]; runs[p.Command] != nil && !meetsOne(only, p.Values) {
			p.Runs = runs[p.Command]
		}
	}
}

// columns are the names of the columns that the factors make: each factor's, and
// behind it those of its labels.
func (x *Index) columns() []string {
	var names []string
	for _, f := range x.Factors {
		names = append(append(names, f.Name), f.Labels...)
	}
	return names
}

// Cells counts those of the plan.
func (x *Index) Cells() (n int) {
	for _, p := range x.Points {
		n += len(p.Runs)
	}
	return n
}

// write puts the index into a folder.
func (x *Index) write(dir string) error {
	text, err := json.Marshal(x)
	if err != nil {
		return err
	}
	return record.WriteFile(dir, IndexFile, append(record.SealLine(text), '\n'))
}

// ReadIndex reads that of a folder.
func ReadIndex(dir string) (*Index, error) {
	path := filepath.Join(dir, IndexFile)
	text, err := record.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, &record.FolderError{Path: dir, Problem: "no sweep here", Fix: "give the folder of one, which holds a " + IndexFile, Err: err}
	}
	if err != nil {
		return nil, storage(path, err)
	}
	return parseIndex(path, text)
}

// parseIndex is ReadIndex of the file's text.
func parseIndex(path string, text []byte) (*Index, error) {
	x := new(Index)
	text, err := record.OpenLine(bytes.TrimSuffix(text, []byte("\n")))
	if err == nil {
		err = json.Unmarshal(text, x)
	}
	if err != nil {
		return nil, &record.FolderError{Path: path, Problem: err.Error(), Fix: "run the sweep again, which writes it anew", Err: err}
	}
	return x, nil
}
