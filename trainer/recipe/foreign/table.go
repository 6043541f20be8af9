package foreign

import (
	_ "embed" // the reasons
	"regexp"
	"slices"
	"strings"

	"driftlab/trainer/recipe/foreign/source"
)

// What changes numbers is never called placement: number formats, and how a batch is cut into parts.
var (
	formatKeys     = regexp.MustCompile(`dtype|precision|fp8|fp16|bf16|fp32|quant|lm_head|int4|int8|kv_cache`)
	microBatchKeys = regexp.MustCompile(`micro_?batch|tokens?_(len_)?per_gpu|dynamic_bsz|dynamic_batch`)
)

// trueReason is the reason of a line for one path: a prefix of placement has formats and micro-batches below it, too.
func trueReason(reason, path string) string {
	leaf := path[strings.LastIndexByte(path, '.')+1:]
	switch {
	case reason != "place" && reason != "model":
	case microBatchKeys.MatchString(leaf):
		return "micro"
	case formatKeys.MatchString(leaf):
		return "format"
	}
	return reason
}

// table is what becomes of each key of a framework. It is written as text, a key a line:
//
//	a.b.key = field      the recipe's field gets the value as it is
//	a.b.key ~ field      the recipe's field gets the number format that the value names
//	a.b.key > field      the reader computes the field from this key and others
//	a.b.key : reason     it is not taken over, or has no effect here: a word of reasons
//	a.b.* : reason       so is everything that begins alike
type table struct {
	keys     map[string]*entry
	prefixes []*entry // longest first
	order    []*entry
	groups   []*group
}

// entry is a line of a table.
type entry struct {
	key, field, reason string
	direct, format     bool
}

// reasons are why a key is not taken over, or, where without is true, has no effect here.
var reasons = func() map[string]reason {
	all := map[string]reason{}
	for line := range strings.Lines(reasonsText) {
		word, why, _ := strings.Cut(strings.TrimSpace(line), " ")
		word, without := strings.CutSuffix(word, "-")
		all[word] = reason{why, without}
	}
	return all
}()

type reason struct {
	why     string
	without bool
}

//go:embed reasons.txt
var reasonsText string

// parseTable reads a table's text; one that is wrong is a programming fault.
func parseTable(text string) *table {
	t := &table{keys: map[string]*entry{}}
	var names []string
	var current *group
	for line := range strings.Lines(text) {
		line = strings.NewReplacer(names...).Replace(strings.TrimSpace(line))
		f := strings.Fields(line)
		if len(f) == 0 {
			current = nil
			continue
		}
		if name, text, ok := strings.Cut(line, " := "); ok {
			names = append([]string{"$" + name, text}, names...) // a later name may begin with an earlier one
			continue
		}
		if line[0] == '[' {
			current = parseGroup(line)
			t.groups = append(t.groups, current)
			continue
		}
		if current != nil {
			current.add(line)
			continue
		}
		at := slices.IndexFunc(f, func(s string) bool { return strings.Contains("=~>:", s) })
		if at < 1 || at != len(f)-2 {
			panic("foreign: table line " + line)
		}
		for _, key := range f[:at] {
			e := &entry{key: key, direct: f[at] == "=" || f[at] == "~", format: f[at] == "~"}
			if f[at] == ":" {
				if e.reason = f[at+1]; reasons[e.reason].why == "" {
					panic("foreign: no reason " + e.reason)
				}
			} else {
				e.field = f[at+1]
			}
			if prefix, ok := strings.CutSuffix(key, "*"); ok {
				e.key = prefix
				t.prefixes = append(t.prefixes, e)
				continue
			}
			t.set(e)
		}
	}
	slices.SortStableFunc(t.prefixes, func(a, b *entry) int { return len(b.key) - len(a.key) })
	return t
}

func (t *table) set(e *entry) {
	t.keys[e.key] = e
	t.order = append(t.order, e)
}

func (t *table) find(key string) *entry {
	if e := t.keys[key]; e != nil {
		return e
	}
	if i := strings.LastIndexByte(key, '.'); i > 0 && source.IsNumber(key[i+1:]) {
		return t.find(key[:i])
	}
	return nil
}

// key is the key of a path that has a line of its own: the path, or what is left of it
// without what a file wraps around everything.
func (t *table) key(path string) string {
	for range 3 {
		if t.find(path) != nil {
			return path
		}
		_, rest, ok := strings.Cut(path, ".")
		if !ok || !strings.Contains(rest, ".") {
			return ""
		}
		path = rest
	}
	return ""
}

// line is the line that a path falls under, of its own or of what begins alike.
func (t *table) line(path string) *entry {
	if key := t.key(path); key != "" {
		return t.find(key)
	}
	for _, e := range t.prefixes {
		if strings.HasPrefix(path, e.key) {
			return e
		}
	}
	return nil
}

// direct sets the fields whose value a key has as it is.
func (t *table) direct(v *values, c *Config) {
	set := map[string]bool{}
	for _, e := range t.order {
		if !e.direct || !v.has(e.key) || set[e.field] {
			continue
		}
		if e.format {
			if name := v.numberFormat(e.key, e.field); name != "" {
				set[e.field] = true
				c.take(e.field, name, e.key)
			}
			continue
		}
		x := v.number(e.key, 0)
		if v.left[e.key] != "" {
			continue
		}
		if e.field == "rollout.top_k" && (x < 0 || x > 1e5) {
			x = 0 // all tokens
		}
		set[e.field] = true
		c.take(e.field, decimal(x), e.key)
	}
}
