package lab

import "driftlab/results/figure"

// panels are the pictures of a lesson in the order in which they stand: those drawn here from
// claims and runs, then those that were recorded, see results/published/lab. A recording that
// begins with what holds for every setting of the controls stands first.
func panels(p *publishedFolder, lesson string) ([]figure.Figure, error) {
	var out []figure.Figure
	if recorded[lesson] {
		var d Data
		if err := p.decode("lab/"+lesson+".json", &d); err != nil {
			return nil, err
		}
		out = d.Panels
	}
	first := len(out) > 0 && len(out[0].When) == 0
	if draw := drawn[lesson]; draw != nil {
		more, err := draw(p)
		if err != nil {
			return nil, err
		}
		if first {
			return append(out, more...), nil
		}
		out = append(more, out...)
	}
	return out, nil
}

// recorded are the lessons that show a measurement made for the lab.
var recorded = map[string]bool{"gap": true, "length": true, "age": true}
