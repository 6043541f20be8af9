package record

import (
	"bytes"
	"encoding"
	"encoding/json"
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
		if name == "" {
			name = f.Name
		}
		if len(b) > start {
			b = append(b, ',')
		}
		b = append(strconv.AppendQuote(b, name), ':')
		var err error
		if b, err = appendJSON(b, value); err != nil {
			return b, err
		}
	}
	return append(b, '}'), nil
}
