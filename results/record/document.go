package record

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// Document is what a command prints with --json: indented, every float allowed, and a newline.
func Document(v any) ([]byte, error) {
	compact, err := appendJSON(nil, reflect.ValueOf(v))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, compact, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// appendJSON is encoding/json for the few kinds of value that commands print,
// with every float allowed.
func appendJSON(b []byte, v reflect.Value) ([]byte, error) {
	if !v.IsValid() {
		return append(b, "null"...), nil
	}
	switch v.Interface().(type) {
	case json.Marshaler, encoding.TextMarshaler:
		text, err := json.Marshal(v.Interface())
		return append(b, text...), err
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return appendJSON(b, v.Elem())
	case reflect.Float64:
		if x := v.Float(); !finite(x) {
			return AppendFloat(b, x), nil
		}
	case reflect.Slice:
		return appendSlice(b, v)
	case reflect.Struct:
		return appendStruct(b, v)
	}
	text, err := json.Marshal(v.Interface())
	return append(b, text...), err
}

func appendSlice(b []byte, v reflect.Value) ([]byte, error) {
	b = append(b, '[')
	for i := range v.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendJSON(b, v.Index(i)); err != nil {
			return b, err
		}
	}
	return append(b, ']'), nil
}

// appendStruct writes the exported fields under their json names.
func appendStruct(b []byte, v reflect.Value) ([]byte, error) {
	b = append(b, '{')
	start := len(b)
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() && !f.Anonymous || name == "-" || strings.Contains(options, "omitempty") && v.Field(i).IsZero() {
			continue
		}
		value := v.Field(i)
		if f.Anonymous && name == "" {
			if value.Kind() == reflect.Pointer {
				if value = value.Elem(); !value.IsValid() {
					continue
				}
			}
			inner, err := appendStruct(nil, value)
			if err != nil {
				return b, err
			}
			if inner = inner[1 : len(inner)-1]; len(inner) > 0 && len(b) > start {
				b = append(b, ',')
			}
			b = append(b, inner...)
			continue
		}
		if len(b) > start {
			b = append(b, ',')
		}
		b = append(strconv.AppendQuote(b, cmp.Or(name, f.Name)), ':')
		var err error
		if b, err = appendJSON(b, value); err != nil {
			return b, err
		}
	}
	return append(b, '}'), nil
}

// FloatText is the text that AppendFloat appends, without the quotes that JSON needs.
func FloatText(v float64) string { return strings.Trim(string(AppendFloat(nil, v)), `"`) }

// AppendFloat appends v in the shortest form that reads back as the same
// float64. JSON has no word for NaN and the infinities: they become the
// strings "nan", "inf" and "-inf". Whole numbers stay free of exponents up to
// 1e21, as in ECMAScript, so token counts remain readable.
func AppendFloat(dst []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, `"nan"`...)
	case math.IsInf(v, 1):
		return append(dst, `"inf"`...)
	case math.IsInf(v, -1):
		return append(dst, `"-inf"`...)
	}
	format := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, v, format, -1, 64)
}

// Number is a number in JSON, with "nan", "inf" and "-inf" as strings.
type Number float64

// MarshalJSON writes what AppendFloat does.
func (n Number) MarshalJSON() ([]byte, error) { return AppendFloat(nil, float64(n)), nil }

// UnmarshalJSON reads what MarshalJSON writes.
func (n *Number) UnmarshalJSON(text []byte) error {
	words := map[string]float64{`"nan"`: math.NaN(), `"inf"`: math.Inf(1), `"-inf"`: math.Inf(-1)}
	v, ok := words[string(text)]
	if !ok && text[0] == '"' {
		return fmt.Errorf(`want a number, "nan", "inf" or "-inf", have %s`, text)
	}
	if !ok {
		var err error
		if v, err = strconv.ParseFloat(string(text), 64); err != nil {
			return fmt.Errorf("want a number, have %s", text)
		}
	}
	*n = Number(v)
	return nil
}

// Floats are numbers in JSON, as Number is one. A plain []float64 can be assigned to it.
type Floats []float64

// MarshalJSON writes a list, or null for a nil one.
func (f Floats) MarshalJSON() ([]byte, error) { return appendList(nil, f, AppendFloat), nil }

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Floats) UnmarshalJSON(text []byte) error {
	var raw []json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return err
	}
	*f = nil
	if raw != nil {
		*f = make(Floats, len(raw))
	}
	for i, entry := range raw {
		if err := (*Number)(&(*f)[i]).UnmarshalJSON(entry); err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
	}
	return nil
}

// Head heads a column of a table that is written to files.
type Head struct {
	Name string
	Kind Kind
}

// Kind is what a column of a table holds; nil stands for nothing in any of them.
type Kind int

// The kinds.
const (
	// Words are strings.
	Words Kind = iota
	// Whole are int64 or uint64.
	Whole
	// Real are float64, and Short those of which six digits are known.
	Real
	Short
)

// RowWriter takes the rows of a table, in the order of its heads.
type RowWriter interface {
	Write(row []any) error
	Close() error
}
