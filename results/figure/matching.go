package figure

// Matching are the figures that the controls' values choose.
func Matching(all []Figure, chosen map[string]string) []Figure {
	var out []Figure
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
