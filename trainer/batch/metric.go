package batch

// Metric is one named figure of a step, under the name verl logs where verl
// has one.
type Metric struct {
	Name  string
	Value float64
}
