package foreign

import (
	"fmt"
	"slices"
	"strings"

	"driftlab/trainer/recipe/foreign/source"
)

// fillUnset sets what the configuration leaves out to the framework's own values, and lists them. The inside of a section says nothing of the
// rest, nor does a file whose parent was not found.
func (f *framework) fillUnset(v *values, c *Config) {
	if v.block || c.open || f.unset == nil {
		return
	}
	stated := map[string]bool{}
	for _, e := range c.extra {
		field, _, _ := strings.Cut(e.assignment, "=")
		stated[field] = true
	}
	var filled []string
	for _, line := range f.unset {
		field, value, ok := strings.Cut(line, "=")
		switch {
		case !ok || stated[field] || field == "loss" && c.Loss != "":
			continue
		case field == "loss":
			c.Loss = value
		default:
			c.take(field, value)
		}
		filled = append(filled, line)
	}
	if len(filled) > 0 {
		c.note("not stated, set to the defaults of %s: %s", f.name, strings.Join(filled, ", "))
	}
}

// unsure says which keys were removed from the framework, and that the correction is not known where its section has keys that are not.
func (f *framework) unsure(v *values, c *Config) {
	for _, line := range f.removed {
		keys, text, _ := strings.Cut(line, ": ")
		var given []string
		for key := range strings.FieldsSeq(keys) {
			at := slices.IndexFunc(v.all, func(s source.Setting) bool { _, below := s.Below(key); return below })
			if at >= 0 {
				given = append(given, "`"+v.all[at].Path+"`")
			}
		}
		if len(given) > 0 {
			c.note("%s: %s; read as the versions that had it", strings.Join(given, ", "), text)
		}
	}
	if len(v.strange) > 0 {
		c.Unknown = fmt.Sprintf("%s: not known to this reader of %s", strings.Join(v.strange, ", "), f.name)
		c.note("whether the run is corrected is not known: %s", c.Unknown)
	}
}
