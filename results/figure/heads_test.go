package figure

import "testing"

// TestHeads reads a title with arguments, a column of numbers and a unit.
func TestHeads(t *testing.T) {
	head := Heads([]byte("size:\n  title: Size of %s\n  columns: [name, +width | nm]\n  note: Measured once.\n"))
	f := head("size", "atoms")
	if f.Kind != Table || f.Title != "Size of atoms" || f.Note != "Measured once." || len(f.Columns) != 2 ||
		f.Columns[0] != (Column{Name: "name"}) || f.Columns[1] != (Column{Name: "width", Unit: "nm", Align: Right}) {
		t.Errorf("%+v", f)
	}
}
