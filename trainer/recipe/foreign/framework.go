package foreign

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"driftlab/precision"
	"driftlab/trainer/method"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/recipe"
)

// Config is what a configuration says of the correction and what goes with it.
type Config struct {
	// Framework is whose configuration it is, Source the name it was read under.
	Framework, Source string
	// Pipeline is the correction; one without weights and masks corrects nothing.
	Pipeline *correction.Pipeline
	// Loss and Routing are a recipe's loss and routing in a line of YAML, empty where
	// the configuration says nothing of them.
	Loss, Routing string
	// Off says why the framework would not apply what is configured, empty if it would.
	Off string
	// Notes name what a recipe cannot say, and what means something else here.
	Notes []string
}

func (c *Config) note(format string, args ...any) {
	c.Notes = append(c.Notes, fmt.Sprintf(format, args...))
}

// Configured reports whether anything is to be corrected, by weights, by masks or
// by the loss itself.
func (c *Config) Configured() bool {
	return c.Off != "" || c.Pipeline.Weights != nil || len(c.Pipeline.Masks) > 0 || c.Framework == prime.name
}

// Assignments are the fields of a recipe, as --set takes them.
func (c *Config) Assignments() []string {
	list := []string{strings.Replace(c.Pipeline.Recipe(), ": ", "=", 1)}
	switch {
	case strings.HasPrefix(c.Loss, "{"):
		list = append(list, "loss="+c.Loss)
	case c.Loss != "":
		list = append(list, "loss.name="+c.Loss) // and its parameters stay, if it is that one already
	}
	if c.Routing != "" {
		list = append(list, "routing="+c.Routing)
	}
	return list
}

// Changes are the assignments, to be applied to a recipe.
func (c *Config) Changes() ([]recipe.Change, error) {
	var list []recipe.Change
	for _, a := range c.Assignments() {
		change, err := recipe.ParseChange("--config "+c.Source+" ("+c.Framework+"):", a)
		if err != nil {
			return nil, err
		}
		list = append(list, change)
	}
	return list, nil
}

// framework is a trainer whose configuration is known.
type framework struct {
	name string
	// sections are read whole: every key in them must be known.
	sections []section
	// loose keys stand anywhere, alone or below others.
	loose []string
	// own are the beginnings of keys that are nobody else's.
	own   []string
	read  func(v *values, c *Config)
	write func(r recipe.Recipe) (string, []string)
}

// section is a part of a configuration, by the name of the field that holds it.
type section struct {
	name string
	keys []string
}

// frameworks are in the order in which they are tried.
var frameworks = []*framework{&verl, &skyrl, &trl, &slime, &nemo, &areal, &openrlhf, &roll, &prime}

// names lists the frameworks.
func names() []string {
	var list []string
	for _, f := range frameworks {
		list = append(list, f.name)
	}
	return list
}

// Read makes what it can of a configuration. The error is recipe.Faults, all of them.
func Read(source string, text []byte) (*Config, error) {
	settings, err := parse(source, text)
	if err != nil {
		return nil, err
	}
	f, err := recognise(source, settings)
	if err != nil {
		return nil, err
	}
	v := f.collect(source, settings)
	c := &Config{Framework: f.name, Source: source, Pipeline: &correction.Pipeline{}}
	f.read(v, c)
	if len(v.faults) == 0 {
		if err := c.Pipeline.Validate(); err != nil {
			v.faults = recipe.Faults{{Source: source, Problem: f.name + ": " + err.Error()}}
		}
	}
	if len(v.faults) > 0 {
		slices.SortStableFunc(v.faults, func(a, b recipe.Fault) int { return cmp.Compare(a.Line, b.Line) })
		return nil, v.faults
	}
	return c, nil
}

// recognise finds whose keys they are: the most win.
func recognise(source string, settings []setting) (*framework, error) {
	var best []*framework
	most := 0
	for _, f := range frameworks {
		n := 0
		for _, s := range settings {
			switch _, whose := f.place(s, f.isBlock(settings)); whose {
			case known:
				n += 4 // more than keys that begin alike
			case unknown:
				n++
			}
		}
		if n > most {
			best, most = nil, n
		}
		if n == most && n > 0 {
			best = append(best, f)
		}
	}
	switch {
	case len(best) == 0:
		return nil, recipe.Faults{{Source: source, Problem: "no setting of a correction is known here: expected those of " + strings.Join(names(), ", ") +
			", such as verl's algorithm.rollout_correction.rollout_is or slime's --use-tis"}}
	case len(best) > 1:
		return nil, recipe.Faults{{Source: source, Problem: fmt.Sprintf("could be of %s or of %s: give more of the file", best[0].name, best[1].name)}}
	}
	return best[0], nil
}

// isBlock reports whether the settings are the inside of one of its sections: one of
// them is a key of it, none stands in a section by name, and none is a loose key.
func (f *framework) isBlock(settings []setting) bool {
	inside := false
	for _, s := range settings {
		for _, in := range f.sections {
			if slices.Contains(strings.Split(s.path, "."), in.name) {
				return false
			}
			inside = inside || in.has(s.path)
		}
		if _, whose := f.place(s, false); whose == known {
			return false
		}
	}
	return inside
}

// owner says whose a setting is.
type owner int

const (
	others  owner = iota
	known         // a key of the framework
	unknown       // in its section, or like one of its keys, and none
)

var entry = regexp.MustCompile(`\.\d+(\.|$)`)

// place is the key that a setting has in the framework.
func (f *framework) place(s setting, block bool) (key string, whose owner) {
	parts := strings.Split(s.path, ".")
	for _, in := range f.sections {
		from := slices.Index(parts, in.name) + 1
		if block {
			from = 0
		} else if from == 0 {
			continue
		}
		key := strings.Join(parts[from:], ".")
		switch {
		case in.has(key):
			return key, known
		case key != "" && !block:
			return key, unknown
		case key == "":
			return in.name, known // the section as a whole, such as null
		}
	}
	for _, key := range f.loose {
		if s.path == key || strings.HasSuffix(s.path, "."+key) || strings.Contains("."+s.path+".", "."+key+".") && entry.MatchString(s.path) {
			return key + entry.FindString(s.path), known
		}
	}
	for _, prefix := range f.own {
		if strings.HasPrefix(s.leaf(), prefix) {
			return s.leaf(), unknown
		}
	}
	return "", others
}

// has reports whether a key is one of the section's; a number stands for any entry of a list.
func (s section) has(key string) bool {
	return slices.Contains(s.keys, entry.ReplaceAllString(key, ".*$1"))
}

// collect takes the framework's settings, and faults those that are like them.
func (f *framework) collect(source string, settings []setting) *values {
	v := &values{source: source, by: map[string]setting{}, block: f.isBlock(settings)}
	keys := slices.Clone(f.loose)
	for _, in := range f.sections {
		keys = append(keys, in.keys...)
	}
	for _, s := range settings {
		key, whose := f.place(s, v.block)
		if whose == others && (v.block || f.misspelt(s.leaf(), keys)) {
			key, whose = s.path, unknown
		}
		switch earlier, twice := v.by[key]; {
		case whose == others:
		case whose == unknown:
			v.unknown(f, key, s, keys)
		case twice && earlier.text != s.text:
			v.fault(s, "given twice, as %q and as %q: remove one", earlier.text, s.text)
		case strings.ContainsAny(s.text, "$"):
			v.fault(s, "%s refers to something else: write the value out", s.text)
		default:
			v.by[key] = s
		}
	}
	return v
}

// misspelt reports whether a key anywhere is one of the framework's but for a letter or two.
func (f *framework) misspelt(leaf string, keys []string) bool {
	for _, k := range keys {
		k = k[strings.LastIndexByte(k, '.')+1:]
		if d := precision.EditDistance(leaf, k); len(k) >= 8 && d > 0 && d <= 2 {
			return true
		}
	}
	for _, in := range f.sections {
		if d := precision.EditDistance(leaf, in.name); len(in.name) >= 8 && d > 0 && d <= 2 {
			return true
		}
	}
	return false
}

// unknown faults a key that is none.
func (v *values) unknown(f *framework, key string, s setting, keys []string) {
	if near := method.Nearest(key, keys); near != "" {
		v.fault(s, "unknown to %s; did you mean %q?", f.name, near)
		return
	}
	v.fault(s, "unknown to %s; the keys of its correction are %s", f.name, strings.Join(keys, ", "))
}
