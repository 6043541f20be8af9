package record

import (
	"encoding/json"
	"fmt"
)

// CurveColumn is a metric of a cell's curve, a value for each of its steps; without steps for 1, 2, ... in a row.
type CurveColumn struct {
	Name  string `json:"name"`
	Step  []int  `json:"step,omitempty"`
	Value Floats `json:"value"`
}

// Columns are those of the cell's curve by name, and the last step.
func (c *Cell) Columns() (columns map[string]*Column, last int, err error) {
	var list []CurveColumn
	if err := json.Unmarshal(c.Curve, &list); err != nil {
		return nil, 0, fmt.Errorf("the curve of %s: %w", c.Key, err)
	}
	columns = map[string]*Column{}
	for _, one := range list {
		column := &Column{Name: one.Name, Step: one.Step, Value: one.Value}
		if one.Step == nil {
			for i := range one.Value {
				column.Step = append(column.Step, i+1)
			}
		}
		if len(column.Step) != len(one.Value) {
			return nil, 0, fmt.Errorf("the curve of %s: %s has %d values at %d steps", c.Key, one.Name, len(one.Value), len(one.Step))
		}
		if n := len(column.Step); n > 0 {
			last = max(last, column.Step[n-1])
		}
		columns[one.Name] = column
	}
	return columns, last, nil
}
