package columnar_test

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"testing"

	"driftlab/precision/must"
	"driftlab/results/columnar"
	"driftlab/results/record"

	"github.com/parquet-go/parquet-go"
)

// heads are not in alphabetical order, as a schema without a struct would have them.
var heads = []record.Head{{Name: "run", Kind: record.Words}, {Name: "seed", Kind: record.Whole}, {Name: "mean", Kind: record.Real}, {Name: "critic/score/mean", Kind: record.Short}}

// written is a table of rows.
func written(t *testing.T, heads []record.Head, rows [][]any) []byte {
	t.Helper()
	var b bytes.Buffer
	w := columnar.New(&b, heads)
	for _, row := range rows {
		must.Do(t, w.Write(row))
	}
	must.Do(t, w.Close())
	return b.Bytes()
}

// Every kind of value is read back, in the order of the heads: also what is empty, not
// finite, or a seed beyond the largest int64, whose bits are kept.
func TestValuesAreReadBack(t *testing.T) {
	rows := [][]any{
		{"a", int64(-3), 0.1, 0.5},
		{nil, nil, nil, nil},
		{"", uint64(math.MaxUint64), math.NaN(), math.Inf(-1)},
		{"Ä \"b\"\n", uint64(7), math.SmallestNonzeroFloat64, 0.1},
	}
	want := []string{
		"a -3 0.1 0.5",
		"null null null null",
		" -1 NaN -Inf",
		"Ä \"b\"\n 7 5e-324 0.1",
	}
	data := written(t, heads, rows)
	file := must.Get(parquet.OpenFile(bytes.NewReader(data), int64(len(data))))(t)
	for i, c := range file.Schema().Columns() {
		if len(c) != 1 || c[0] != heads[i].Name {
			t.Errorf("column %d is %v, want %s", i, c, heads[i].Name)
		}
	}
	got := readBack(t, file)
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("row %d is %q, want %q", i, got[i], want[i])
		}
	}
}

// readBack are the rows of a file, each as text.
func readBack(t *testing.T, file *parquet.File) (list []string) {
	t.Helper()
	for _, group := range file.RowGroups() {
		r := group.Rows()
		buffer := make([]parquet.Row, 64)
		for {
			n, err := r.ReadRows(buffer)
			for _, row := range buffer[:n] {
				text := ""
				for k, v := range row {
					if k > 0 {
						text += " "
					}
					switch {
					case v.IsNull():
						text += "null"
					case v.Kind() == parquet.ByteArray:
						text += string(v.ByteArray())
					case v.Kind() == parquet.Int64:
						text += fmt.Sprint(v.Int64())
					case v.Kind() == parquet.Double:
						text += fmt.Sprint(v.Double())
					case v.Kind() == parquet.Float:
						text += fmt.Sprint(v.Float())
					}
				}
				list = append(list, text)
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		must.Do(t, r.Close())
	}
	return list
}

// Equal rows give equal bytes, and a row more gives others.
func TestEqualRowsGiveEqualBytes(t *testing.T) {
	var rows [][]any
	for i := range 300 {
		rows = append(rows, []any{fmt.Sprint("run", i%7), int64(i), float64(i) / 3, float64(i) / 4})
	}
	first := written(t, heads, rows)
	if !bytes.Equal(first, written(t, heads, rows)) {
		t.Error("equal rows give different bytes")
	}
	if bytes.Equal(first, written(t, heads, rows[1:])) {
		t.Error("other rows give the same bytes")
	}
}

// A table without a row is a file with its columns.
func TestNoRows(t *testing.T) {
	data := written(t, heads, nil)
	file := must.Get(parquet.OpenFile(bytes.NewReader(data), int64(len(data))))(t)
	if file.NumRows() != 0 || len(file.Schema().Columns()) != len(heads) {
		t.Errorf("%d rows, %d columns, want 0 and %d", file.NumRows(), len(file.Schema().Columns()), len(heads))
	}
}
