package figure

import (
	"fmt"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"
)

// Heads reads tables without their rows from a text of YAML, which names them: a title, for fmt with the arguments of a call, a note,
// and columns. A column of numbers begins with +, and a unit follows its name after " | ".
func Heads(text []byte) func(name string, args ...any) *Figure {
	read := sync.OnceValue(func() (heads map[string]struct {
		Title, Note string
		Columns     []string
	}) {
		if err := yaml.Load(text, &heads, yaml.WithKnownFields()); err != nil {
			panic("figure: the heads of tables: " + err.Error()) // every table reads them
		}
		return heads
	})
	return func(name string, args ...any) *Figure {
		h, ok := read()[name]
		if !ok {
			panic("figure: there is no table " + name)
		}
		t := &Figure{Kind: Table, Title: fmt.Sprintf(h.Title, args...), Note: h.Note}
		for _, column := range h.Columns {
			column, right := strings.CutPrefix(column, "+")
			title, unit, _ := strings.Cut(column, " | ")
			t.Columns = append(t.Columns, Column{Name: title, Unit: unit, Align: Align(right)})
		}
		return t
	}
}
