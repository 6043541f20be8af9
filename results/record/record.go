package record

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v4"
)

// Record is a run directory read back.
type Record struct {
	// Dir is the folder the run was read from.
	Dir string
	// Name and Seed are the recipe's.
	Name string
	Seed uint64
	// Recipe is the resolved recipe, as text.
	Recipe []byte
	// Columns are the metrics, in the order they first appear.
	Columns []Column
	// Steps is the number of steps on record; the evaluation before the first
	// update, step 0, is none.
	Steps int
	// Summary is nil while the run is unfinished.
	Summary *Summary
	// Clock is what the virtual clock of an asynchronous schedule says of the run, as
	// of the last snapshot while that is unfinished; nil for other schedules.
	Clock *Clock
}

// Column is one metric of a run over its steps. Steps at which the metric was
// not logged (an evaluation every 20 steps, say) are absent, not zero.
type Column struct {
	Name  string
	Step  []int
	Value []float64
}

// Last returns the newest value; ok is false for an empty column.
func (c *Column) Last() (value float64, ok bool) {
	if c == nil || len(c.Value) == 0 {
		return 0, false
	}
	return c.Value[len(c.Value)-1], true
}

// At returns the value of a step; ok is false where there is none.
func (c *Column) At(step int) (value float64, ok bool) {
	if c == nil {
		return 0, false
	}
	i, ok := slices.BinarySearch(c.Step, step)
	if !ok {
		return 0, false
	}
	return c.Value[i], true
}

// Updated returns the values that an update came before: all but that of step 0,
// the evaluation of the weights a run starts from.
func (c *Column) Updated() []float64 {
	if len(c.Step) > 0 && c.Step[0] == 0 {
		return c.Value[1:]
	}
	return c.Value
}

// Column returns the metric of that name, nil when the run never logged it.
func (r *Record) Column(name string) *Column {
	for i := range r.Columns {
		if r.Columns[i].Name == name {
			return &r.Columns[i]
		}
	}
	return nil
}

// Add appends the figures of one step to the record's columns: a run that is
// kept in memory and one that was read back look the same.
func (r *Record) Add(step int, metrics []Metric) {
	if step > 0 { // the evaluation before the first update is no step
		r.Steps++
	}
	for _, m := range metrics {
		i := slices.IndexFunc(r.Columns, func(c Column) bool { return c.Name == m.Name })
		if i < 0 {
			i = len(r.Columns)
			r.Columns = append(r.Columns, Column{Name: m.Name})
		}
		r.Columns[i].Step = append(r.Columns[i].Step, step)
		r.Columns[i].Value = append(r.Columns[i].Value, m.Value)
	}
}

// SameRecipe returns an error that names the first line where the recipe of
// the record and the given one differ.
func (r *Record) SameRecipe(recipe []byte) error {
	return sameRecipe(filepath.Join(r.Dir, RecipeFile), r.Recipe, recipe)
}

// Load reads a run directory, finished or not. A last line that is still being
// written is left out. A record that is not whole is an error that says where.
func Load(dir string) (*Record, error) {
	recipePath := filepath.Join(dir, RecipeFile)
	recipe, err := ReadFile(recipePath)
	if err != nil {
		return nil, folderError(recipePath, err)
	}
	r := &Record{Dir: dir, Recipe: recipe}
	// The recipe's meaning belongs to another package; only its two labels are read here.
	var label struct {
		Name string `yaml:"name"`
		Seed uint64 `yaml:"seed"`
	}
	if err := yaml.Unmarshal(recipe, &label); err != nil {
		return nil, &FolderError{Path: recipePath, Problem: err.Error(), Fix: "remove the folder and run again", Err: err}
	}
	r.Name, r.Seed = label.Name, label.Seed
	finished := Finished(dir) // before the record is read, which may still grow
	path := filepath.Join(dir, MetricsFile)
	data, err := ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, folderError(path, err)
	}
	if err := eachStep(path, data, func(step int, metrics []Metric) bool {
		r.Add(step, metrics)
		return true
	}); err != nil {
		return nil, err
	}
	var clock []byte
	if r.Clock, clock, err = readClock(dir); err != nil {
		return nil, err
	}
	if !finished {
		return r, nil
	}
	r.Summary = new(Summary)
	text, err := readJSON(filepath.Join(dir, SummaryFile), r.Summary)
	if err != nil {
		return nil, err
	}
	if r.Steps != r.Summary.Steps {
		return nil, &FolderError{Path: path, Problem: fmt.Sprintf("the record ends at step %d, %s counts %d", r.Steps, SummaryFile, r.Summary.Steps),
			Fix: "remove the folder and run again"}
	}
	if err := checkSeal(dir, map[string][]byte{RecipeFile: recipe, MetricsFile: data, SummaryFile: text, ClockFile: clock}); err != nil {
		return nil, err
	}
	return r, nil
}

// LoadAll reads every run at or below dir, in the sorted order of their paths.
// A folder without runs is an error.
func LoadAll(dir string) ([]*Record, error) {
	var folders []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return folderError(path, err)
		}
		if !entry.IsDir() && entry.Name() == RecipeFile {
			folders = append(folders, filepath.Dir(path))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(folders)
	records := make([]*Record, 0, len(folders))
	for _, folder := range folders {
		r, err := Load(folder)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	if len(records) == 0 {
		return nil, &FolderError{Path: dir, Problem: "no run here or below", Fix: "give a folder that holds a " + RecipeFile}
	}
	return records, nil
}
