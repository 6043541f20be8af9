package sources

import "strings"

// RecipeLine writes changes as a recipe has them: "a.b=1" and "a.c=2" are "a: {b: 1, c: 2}".
func RecipeLine(changes []string) string {
	var root branch
	for _, c := range changes {
		path, value, _ := strings.Cut(c, "=")
		at := &root
		for name := range strings.SplitSeq(path, ".") {
			at = at.child(name)
		}
		at.value = value
	}
	var lines []string
	for _, section := range root.children {
		lines = append(lines, section.name+": "+section.text())
	}
	return strings.Join(lines, "\n")
}

// branch is a field of a recipe, or a mapping of fields.
type branch struct {
	name, value string
	children    []*branch
}

func (b *branch) child(name string) *branch {
	for _, c := range b.children {
		if c.name == name {
			return c
		}
	}
	b.children = append(b.children, &branch{name: name})
	return b.children[len(b.children)-1]
}

func (b *branch) text() string {
	if len(b.children) == 0 {
		return b.value
	}
	var fields []string
	for _, c := range b.children {
		fields = append(fields, c.name+": "+c.text())
	}
	return "{" + strings.Join(fields, ", ") + "}"
}
