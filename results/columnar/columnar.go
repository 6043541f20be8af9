// Package columnar writes tables as Parquet, for programs that read columns.
//
// What it is not: nothing but the command imports it, as the library it stands on
// brings a network stack with it.
package columnar

import (
	"fmt"
	"io"
	"reflect"
	"strconv"

	"driftlab/results/record"

	"github.com/parquet-go/parquet-go"
)

type table struct {
	*parquet.Writer
	columns []record.Head
	row     parquet.Row
}

// New returns a writer of Parquet. Its columns stand in the given order, which a
// schema has only where it comes from a struct. Equal rows give equal bytes.
func New(w io.Writer, columns []record.Head) record.RowWriter {
	types := map[record.Kind]reflect.Type{record.Words: reflect.TypeFor[string](), record.Whole: reflect.TypeFor[int64](), record.Real: reflect.TypeFor[float64](), record.Short: reflect.TypeFor[float32]()}
	options := map[record.Kind]string{record.Words: ",dict", record.Short: ",split", record.Real: ",split"}
	fields := make([]reflect.StructField, len(columns))
	for i, c := range columns {
		tag := fmt.Sprintf("parquet:%s", strconv.Quote(c.Name+",optional,zstd"+options[c.Kind]))
		fields[i] = reflect.StructField{Name: "C" + strconv.Itoa(i), Type: types[c.Kind], Tag: reflect.StructTag(tag)}
	}
	const group = 1 << 17
	schema := parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface())
	return &table{columns: columns, Writer: parquet.NewWriter(w, schema, parquet.CreatedBy("driftlab", "", ""), parquet.MaxRowsPerRowGroup(group))}
}

// Write adds a row.
func (p *table) Write(row []any) error {
	p.row = p.row[:0]
	for i, v := range row {
		value, level := parquet.NullValue(), 1
		switch v := v.(type) {
		case nil:
			level = 0
		case string:
			value = parquet.ByteArrayValue([]byte(v))
		case int64:
			value = parquet.Int64Value(v)
		case uint64:
			value = parquet.Int64Value(int64(v)) // a seed: the bits, where it is beyond the largest
		case float64:
			value = parquet.DoubleValue(v)
			if p.columns[i].Kind == record.Short {
				value = parquet.FloatValue(float32(v))
			}
		}
		p.row = append(p.row, value.Level(0, level, i))
	}
	_, err := p.WriteRows([]parquet.Row{p.row})
	return err
}
