package foreign

import (
	"fmt"
	"path"
	"strings"

	"driftlab/trainer/recipe/foreign/source"
)

// mostParents bounds how many files a configuration may build on.
const mostParents = 16

// parents reads the files that a configuration names under defaults, as NeMo-RL and Hydra do: the file itself and later parents win.
type parents struct {
	open    func(path string) ([]byte, error)
	notes   []string
	missing bool
	read    int
}

// add puts the settings of the parents in front of those of a file in a folder.
func (p *parents) add(own []source.Setting, folder string, depth int) []source.Setting {
	var merged []source.Setting
	for _, s := range own {
		if key, entry, listed := strings.Cut(s.Path, "."); key != "defaults" || s.Null || listed && strings.Contains(entry, ".") || s.Text == "_self_" {
			continue
		}
		name := path.Join(folder, s.Text)
		if path.Ext(name) == "" {
			name += ".yaml"
		}
		settings, err := p.settings(name, depth)
		if err != nil {
			p.missing = true
			p.notes = append(p.notes, fmt.Sprintf("defaults: %s %v: all that it states is unknown", s.Text, err))
			continue
		}
		p.notes = append(p.notes, fmt.Sprintf("defaults: %s is read: what the file does not state is from there", s.Text))
		merged = override(merged, settings)
	}
	return override(merged, own)
}

func (p *parents) settings(name string, depth int) ([]source.Setting, error) {
	if p.read++; p.read > mostParents || depth > mostParents {
		return nil, fmt.Errorf("is one of more than %d parents", mostParents)
	}
	if p.open == nil {
		return nil, fmt.Errorf("is not read here")
	}
	text, err := p.open(name)
	if err != nil {
		return nil, fmt.Errorf("is not there")
	}
	documents, err := source.Parse(name, text)
	if err != nil || len(documents) != 1 {
		return nil, fmt.Errorf("cannot be read")
	}
	return p.add(documents[0].Settings, path.Dir(name), depth+1), nil
}

// override puts settings after those that they leave in force: a path, what lies below it, and a whole list are replaced.
func override(base, over []source.Setting) []source.Setting {
	replaced := map[string]bool{}
	for _, s := range over {
		replaced[s.Path] = true
		if list, entry := path.Ext(s.Path), strings.TrimSuffix(s.Path, path.Ext(s.Path)); source.IsNumber(strings.TrimPrefix(list, ".")) {
			replaced[entry] = true
		}
	}
	var kept []source.Setting
	for _, s := range base {
		at := s.Path
		for at != "" && !replaced[at] {
			at = at[:max(strings.LastIndexByte(at, '.'), 0)]
		}
		if at == "" {
			s.Line = 0 // of another file
			kept = append(kept, s)
		}
	}
	return append(kept, over...)
}
