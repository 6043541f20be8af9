package source

import (
	"fmt"
	"maps"
	"slices"
)

// documents groups the commands by the program they start.
func (s *shell) documents() (list []Document) {
	at := map[string]int{}
	var readings [][][]Setting
	for _, c := range s.commands {
		if c.heredoc != "" {
			if inner, err := Parse("heredoc.yaml", []byte(c.heredoc)); err == nil {
				for _, d := range inner {
					list = append(list, Document{Settings: d.Settings, Name: fmt.Sprintf("the text at line %d", c.line), Line: c.line})
					readings = append(readings, nil)
				}
			}
			continue
		}
		var of [][]Setting
		name := ""
		for _, words := range c.readings {
			n, rest, ok := program(words)
			if settings := fromWords(rest); ok && len(settings) > 0 {
				name, of = n, append(of, settings)
			}
		}
		if len(of) == 0 {
			continue
		}
		i, known := at[name]
		if !known {
			i = len(list)
			at[name] = i
			list, readings = append(list, Document{Name: name, Line: c.line}), append(readings, nil)
		}
		if name == "" { // lines of flags belong together
			if len(readings[i]) == 0 {
				readings[i] = [][]Setting{nil}
			}
			readings[i][0] = append(readings[i][0], variants(of)...)
			continue
		}
		readings[i] = append(readings[i], of...)
	}
	for i := range list {
		if readings[i] != nil {
			list[i].Settings = variants(readings[i])
		}
	}
	if len(list) == 0 {
		list = s.arrays()
	}
	return list
}

// arrays are the settings of a fragment that fills arrays and starts nothing.
func (s *shell) arrays() []Document {
	var all []Setting
	for _, name := range slices.Sorted(maps.Keys(s.vars)) {
		var readings [][]Setting
		for _, v := range s.vars[name] {
			var words []word
			for _, text := range v.List {
				words = append(words, word{text, 1})
			}
			readings = append(readings, fromWords(words))
		}
		all = append(all, variants(readings)...)
	}
	if len(all) == 0 {
		return nil
	}
	return []Document{{Settings: all}}
}
