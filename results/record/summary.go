package record

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// How a run ended.
const (
	// StatusFinished means that every step of the recipe was taken.
	StatusFinished = "finished"
	// StatusStopped means that a guard, or a value that is not finite, ended the run early.
	StatusStopped = "stopped"
)

// Summary is what a run says of itself at its end. It holds nothing that
// depends on the machine, so equal runs have equal summaries.
type Summary struct {
	// Name is the recipe's.
	Name string
	// Seed is the recipe's.
	Seed uint64
	// Steps is the number of steps taken.
	Steps int
	// Status is StatusFinished or StatusStopped.
	Status string
	// Reason says why a run stopped: the step and the tensor or guard; else empty.
	Reason string
	// Metrics are the figures of the run as a whole, in the order they are shown.
	Metrics []Metric
}

// Metric returns the figure of that name, and whether there is one.
func (s *Summary) Metric(name string) (float64, bool) {
	for _, m := range s.Metrics {
		if m.Name == name {
			return m.Value, true
		}
	}
	return 0, false
}

// summaryJSON is a summary as a file has it, its metrics one object in order.
type summaryJSON struct {
	Name    string          `json:"name"`
	Seed    uint64          `json:"seed"`
	Steps   int             `json:"steps"`
	Status  string          `json:"status"`
	Reason  string          `json:"reason"`
	Metrics json.RawMessage `json:"metrics"`
}

// MarshalJSON writes the summary with its metrics as one object, in order.
func (s Summary) MarshalJSON() ([]byte, error) {
	if err := checkNames(s.Metrics); err != nil {
		return nil, err
	}
	b := []byte{'{'}
	for i, m := range s.Metrics {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), m.Name...), '"', ':')
		b = AppendFloat(b, m.Value)
	}
	return json.Marshal(summaryJSON{s.Name, s.Seed, s.Steps, s.Status, s.Reason, append(b, '}')})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Summary) UnmarshalJSON(text []byte) error {
	var plain summaryJSON
	if err := json.Unmarshal(text, &plain); err != nil {
		return err
	}
	*s = Summary{Name: plain.Name, Seed: plain.Seed, Steps: plain.Steps, Status: plain.Status, Reason: plain.Reason}
	if len(plain.Metrics) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(plain.Metrics))
	dec.UseNumber()
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return fmt.Errorf("metrics: want an object")
	}
	metrics, err := readMetrics(nil, dec)
	if err != nil {
		return err
	}
	if err := checkNames(metrics); err != nil {
		return err
	}
	s.Metrics = metrics
	return nil
}
