package panel

// Matching are the panels that the controls' values choose.
func Matching(all []Panel, chosen map[string]string) []Panel {
	var out []Panel
	for _, p := range all {
		matches := true
		for key, value := range p.When {
			matches = matches && (chosen[key] == value || chosen[key] == "")
		}
		if matches {
			out = append(out, p)
		}
	}
	return out
}
