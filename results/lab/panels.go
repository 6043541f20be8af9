package lab

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"

	"driftlab/results/lab/panel"
)

// panels are the pictures of a lesson: those that were recorded, see
// results/published/lab, and those drawn here from claims and runs.
func panels(p *published, lesson string) ([]panel.Panel, error) {
	var out []panel.Panel
	if recorded[lesson] {
		file := path.Join("lab", lesson+".json")
		text, err := fs.ReadFile(p.dir, file)
		if err != nil {
			return nil, err
		}
		var d Data
		if err := json.Unmarshal(text, &d); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
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
