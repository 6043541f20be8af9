package diagnose

import (
	"driftlab/results/stability"
	"driftlab/results/stats"
)

// A rule judges means over windowSteps updates, from the window of that number on: so its published rates were measured.
const (
	windowSteps = 10
	firstWindow = 2
)

// Monitor follows the metrics of a run by the rules whose rates are published and whose limits are in use.
type Monitor struct {
	rates  *stability.Alarms
	now    map[string][]float64 // the values of the window so far
	window int                  // its number
	before map[string][]float64 // the means of those before
	rings  map[string]bool      // rules that were beyond their limit in the window before
}

// NewMonitor is a monitor that has seen nothing.
func NewMonitor(rates *stability.Alarms) *Monitor {
	return &Monitor{rates: rates, now: map[string][]float64{}, before: map[string][]float64{}, rings: map[string]bool{}}
}

// Add takes the metrics of an update, counted from 1. When the update begins a window it returns the rules that began to fire
// in the one before, whose last update it returns as well.
func (m *Monitor) Add(update int, metrics map[string]float64) (last int, fired []Alarm) {
	if update < 1 {
		return 0, nil // an evaluation before training
	}
	if at := (update - 1) / windowSteps; at != m.window {
		last, fired = m.Close()
		m.window = at
	}
	for name, x := range metrics {
		m.now[name] = append(m.now[name], x)
	}
	return last, fired
}

// Close ends the window, as the end of a run does.
func (m *Monitor) Close() (last int, fired []Alarm) {
	for i := range m.rates.Rules {
		r := &m.rates.Rules[i]
		values := m.now[r.Metric]
		if r.Fitted || r.Rates.Of == 0 || len(values) == 0 {
			continue
		}
		value := stats.Average(values)
		if before := m.before[r.Metric]; r.Relative && (len(before) == 0 || stats.Median(before) <= 0) {
			continue
		} else if r.Relative {
			value /= stats.Median(before)
		}
		rings := m.window >= firstWindow && fires(value, r.Limit, r.Below)
		if rings && !m.rings[r.Name] {
			fired = append(fired, Alarm{Rule: r.Name, Source: r.Source, Value: value, Limit: r.Limit, Fired: true}.withRates(r.Rates))
		}
		m.rings[r.Name] = rings
	}
	for name, values := range m.now {
		m.before[name] = append(m.before[name], stats.Average(values))
	}
	clear(m.now)
	return (m.window + 1) * windowSteps, fired
}
