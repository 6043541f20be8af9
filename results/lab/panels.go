package lab

import "driftlab/results/lab/panel"

// panels are the pictures of a lesson: those that were recorded, see
// results/published/lab, and those drawn here from claims and runs.
func panels(p *published, lesson string) ([]panel.Panel, error) {
	var out []panel.Panel
	if recorded[lesson] {
		var d Data
		if err := p.decode(lesson, &d); err != nil {
			return nil, err
		}
		out = d.Panels
	}
	if draw := drawn[lesson]; draw != nil {
		more, err := draw(p)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

// recorded are the lessons that show a measurement made for the lab.
var recorded = map[string]bool{"gap": true, "length": true, "age": true}
