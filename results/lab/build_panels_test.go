package lab

import "driftlab/results/figure"

// panels are the pictures of a lesson in the order in which they stand: those drawn here from
// claims and runs, then those that were recorded, see results/published/lab. A recording that
// begins with what holds for every setting of the controls stands first.
func panels(p *publishedFolder, lesson string) []figure.Figure {
	var d Data
	if recorded[lesson] {
		p.decode("lab/"+lesson+".json", &d)
	}
	var more []figure.Figure
	if draw := drawn[lesson]; draw != nil {
		more = draw(p)
	}
	if first := len(d.Panels) > 0 && len(d.Panels[0].When) == 0; first {
		return append(d.Panels, more...)
	}
	return append(more, d.Panels...)
}

// recorded are the lessons that show a measurement made for the lab.
var recorded = map[string]bool{"gap": true, "length": true, "age": true}
