package record

import (
	"fmt"
	"math"
	"strconv"
)

// Metric is one named figure of a step. Names are those verl logs, such as
// "actor/grad_norm"; they are printable ASCII without quotes and backslashes.
type Metric struct {
	Name  string
	Value float64
}

// stepKey is the first key of every line of metrics.jsonl.
const stepKey = "step"

// checkNames returns an error when a metric name cannot be a JSON key as it
// stands, is reserved, or occurs twice. The lists are short: pairs are compared.
func checkNames(metrics []Metric) error {
	for i := range metrics {
		name := metrics[i].Name
		if name == "" || name == stepKey {
			return fmt.Errorf("record: metric %d is named %q: choose another name", i, name)
		}
		for j := 0; j < len(name); j++ {
			if c := name[j]; c < ' ' || c > '~' || c == '"' || c == '\\' {
				return fmt.Errorf("record: metric name %q: only printable ASCII without quotes and backslashes", name)
			}
		}
		for j := range metrics[:i] {
			if metrics[j].Name == name {
				return fmt.Errorf("record: metric %q is given twice", name)
			}
		}
	}
	return nil
}

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

// parseWord reads the three strings AppendFloat writes.
func parseWord(s string) (float64, bool) {
	switch s {
	case "nan":
		return math.NaN(), true
	case "inf":
		return math.Inf(1), true
	case "-inf":
		return math.Inf(-1), true
	}
	return 0, false
}

// AppendStep appends one line of metrics.jsonl.
func AppendStep(dst []byte, step int, metrics []Metric) []byte {
	dst = append(dst, `{"step":`...)
	dst = strconv.AppendInt(dst, int64(step), 10)
	for i := range metrics {
		dst = append(dst, ',', '"')
		dst = append(dst, metrics[i].Name...)
		dst = append(dst, '"', ':')
		dst = AppendFloat(dst, metrics[i].Value)
	}
	return append(dst, '}', '\n')
}
