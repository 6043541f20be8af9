package source

import "strings"

// Setting is a leaf of a configuration: where it stands and what it says.
type Setting struct {
	// Path has dots, an entry of a list its number.
	Path string
	Text string
	Null bool
	// Bare is a flag of a command without a value.
	Bare bool
	// Why says why the value is not known, empty if it is.
	Why  string
	Line int
}

// Leaf is the last part of its path.
func (s Setting) Leaf() string { return s.Path[strings.LastIndexByte(s.Path, '.')+1:] }

// Shown is its value for people.
func (s Setting) Shown() string {
	switch {
	case s.Bare:
		return "on"
	case s.Text == "" && s.Null:
		return "null"
	case len(s.Text) > 60:
		return s.Text[:57] + "..."
	}
	return s.Text
}

// Below is what of a path follows a key that ends it: the numbers of a list.
func (s Setting) Below(key string) (rest string, ok bool) {
	path := s.Path
	for {
		if path == key || strings.HasSuffix(path, "."+key) {
			return s.Path[len(path):], true
		}
		i := strings.LastIndexByte(path, '.')
		if i < 0 || !IsNumber(path[i+1:]) {
			return "", false
		}
		path = path[:i]
	}
}

// IsNumber reports whether a part of a path is the number of an entry.
func IsNumber(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }
