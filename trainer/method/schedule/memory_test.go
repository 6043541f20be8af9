package schedule_test

import (
	"testing"

	"driftlab/trainer/method/memorytest"
	"driftlab/trainer/method/schedule"
)

// A lag follows from the step, or the schedule is a Memory.
func TestMemory(t *testing.T) {
	for _, e := range schedule.Registry {
		_, err := memorytest.Check(20, e.New, func(s schedule.Schedule, step int) ([]float64, error) {
			return []float64{float64(s.Lag(step)), float64(s.MaxLag())}, nil
		})
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
}
