package record

import (
	"bytes"
	"encoding/json"
	"fmt"
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

// AppendStep appends one line of metrics.jsonl.
func AppendStep(dst []byte, step int, metrics []Metric) []byte {
	dst = append(dst, `{"step":`...)
	dst = strconv.AppendInt(dst, int64(step), 10)
	return append(appendMetrics(dst, metrics), '}', '\n')
}

// appendMetrics appends names with their values, each after a comma.
func appendMetrics(dst []byte, metrics []Metric) []byte {
	for i := range metrics {
		dst = append(dst, ',', '"')
		dst = append(dst, metrics[i].Name...)
		dst = append(dst, '"', ':')
		dst = AppendFloat(dst, metrics[i].Value)
	}
	return dst
}

// Metrics are one object in JSON, in their order.
type Metrics []Metric

// MarshalJSON writes the object.
func (m Metrics) MarshalJSON() ([]byte, error) {
	if err := checkNames(m); err != nil || len(m) == 0 {
		return []byte("{}"), err
	}
	b := appendMetrics(nil, m)
	b[0] = '{' // in place of the first comma
	return append(b, '}'), nil
}

// UnmarshalJSON reads what MarshalJSON writes, in the order of the text.
func (m *Metrics) UnmarshalJSON(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return fmt.Errorf("metrics: want an object")
	}
	list, err := readMetrics(nil, dec)
	if err != nil {
		return err
	}
	*m = list
	return checkNames(list)
}
