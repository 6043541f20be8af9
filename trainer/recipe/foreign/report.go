package foreign

import (
	"fmt"
	"slices"
	"strings"
)

// Fate is what became of a setting.
type Fate string

// The three fates of a setting.
const (
	Taken    Fate = "taken over"
	NotTaken Fate = "not taken over"
	NoEffect Fate = "without effect here"
)

// Setting is a key of a configuration and what became of it.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Line  int    `json:"line,omitempty"`
	Fate  Fate   `json:"fate"`
	// Why is the recipe's section that has it, or the reason why none has.
	Why string `json:"why"`
}

// report says of every setting what became of it.
func (f *framework) report(v *values, c *Config) {
	for _, s := range v.all {
		one := Setting{Key: s.Path, Value: s.Shown(), Line: s.Line, Fate: NotTaken, Why: "not known to this reader of " + f.name}
		key, whose := f.place(s, v.block)
		e := f.table.line(s.Path)
		if whose == known {
			e = f.table.find(key)
		}
		switch {
		case whose == unknown:
		case whose == known && v.left[key] != "":
			one.Why = v.left[key]
		case s.Why != "" && (whose == known || e != nil && !reasons[e.reason].without):
			one.Why = s.Why
		case whose == known && v.by[key].Why != "":
			one.Why = v.by[key].Why
		case e != nil && e.reason != "":
			reason := reasons[trueReason(e.reason, s.Path)]
			one.Why = reason.why
			if reason.without {
				one.Fate = NoEffect
			}
		case whose == known && v.used[key] && e != nil:
			one.Fate, one.Why = Taken, e.field
		case whose == known && v.used[key]:
			one.Fate, one.Why = Taken, "correction"
		case whose == known && s.Null:
			one.Fate, one.Why = NoEffect, "null: the framework's default"
		case whose == known:
			one.Why = "it has no effect next to the other settings of this configuration"
		}
		c.Settings = append(c.Settings, one)
	}
}

// Table is what became of every setting, in three groups: taken over, not taken over with
// the reason, without effect here. Keys of one section and one reason share a line.
func (c *Config) Table() string {
	var b strings.Builder
	for _, fate := range []Fate{Taken, NotTaken, NoEffect} {
		of := slices.DeleteFunc(slices.Clone(c.Settings), func(s Setting) bool { return s.Fate != fate })
		if len(of) == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s (%d of %d settings):\n", fate, len(of), len(c.Settings))
		var whys []string
		for _, s := range of {
			if !slices.Contains(whys, s.Why) {
				whys = append(whys, s.Why)
			}
		}
		for _, why := range whys {
			fmt.Fprintf(&b, "  %s:\n", why)
			c.group(&b, of, why, fate != NoEffect)
		}
	}
	return b.String()
}

// group writes the settings of one reason: with their values a line each, else those of one section on one line.
func (c *Config) group(b *strings.Builder, list []Setting, why string, valued bool) {
	var parents []string
	by := map[string][]string{}
	for _, s := range list {
		if s.Why != why {
			continue
		}
		if valued {
			fmt.Fprintf(b, "    `%s` = %s\n", s.Key, s.Value)
			continue
		}
		i := strings.LastIndexByte(s.Key, '.')
		parent := s.Key[:max(i, 0)]
		if by[parent] == nil {
			parents = append(parents, parent)
		}
		by[parent] = append(by[parent], s.Key[i+1:])
	}
	for _, parent := range parents {
		fmt.Fprintf(b, "    %s\n", strings.TrimPrefix(parent+": "+strings.Join(by[parent], ", "), ": "))
	}
}
