package record

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

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
