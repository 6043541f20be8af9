package record

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
	Name string `json:"name"`
	// Seed is the recipe's.
	Seed uint64 `json:"seed"`
	// Steps is the number of steps taken.
	Steps int `json:"steps"`
	// Status is StatusFinished or StatusStopped.
	Status string `json:"status"`
	// Reason says why a run stopped: the step and the tensor or guard; else empty.
	Reason string `json:"reason"`
	// Metrics are the figures of the run as a whole, in the order they are shown.
	Metrics Metrics `json:"metrics"`
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
