package results

import (
	"io"
	"path/filepath"
	"slices"
)

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

// WriteFile puts data into a file of a run directory, whole or not at all.
func WriteFile(dir, name string, data []byte) error {
	return writeAtomic(filepath.Join(dir, name), data)
}

// WriteWhole is WriteFile for data that need not be in memory at once.
func WriteWhole(dir, name string, write func(io.Writer) error) error {
	return writeWhole(filepath.Join(dir, name), write)
}
