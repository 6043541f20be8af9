package foreign

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"driftlab/trainer/method/correction"
	"driftlab/trainer/recipe"

	"go.yaml.in/yaml/v4"
)

// A group of rows says what several keys of a framework mean together: the loss, the penalty, the weights. The rows are read
// from a configuration and, the other way round, written into one. In the text of a table a group is
//
//	[loss!] key|older?default             the part of a recipe, and the key that chooses a row; ! also where no key is given
//	value,other key=value key!=value ?key !key -> name field=key?default field:constant ; mask name field=...
//	value : reason                        not taken over
//	value ? reason                        it cannot be known whether and how the run is corrected
//	value ! reason                        the correction is off
//	value -> -                            read by the framework's own code
//	value,other -> =                      each under its own name
//	value ~> name field=key               written and not read; <~ read and not written
//
// The first row counts whose conditions hold: the chosen value, another key's value, that a key is given, or not; * is any value.
// The value of a field is the value of the first key that is given, through a function that stands before an @: see functions. A line
// NAME := text gives a text a name, which $NAME stands for. A field section.name is a field of a section within the method.
type group struct {
	part, otherwise string
	always          bool
	choose, keys    []string
	rows            []*row
}

type row struct {
	conds []cond
	parts []piece
	// verdict is : ? or !, and why its reason; empty where the row is taken over.
	verdict, why string
	// written says that it is written and not read: another row reads what it writes.
	written bool
	// older says that it is read and not written: the framework does not have it any more.
	older bool
}

// cond holds where a key has one of the values or, without values, is given.
type cond struct {
	keys, values []string
	otherwise    string
	not          bool
}

// piece is a part of a recipe, with a method's name and its fields.
type piece struct {
	part, name string
	fields     []field
}

type field struct {
	name, constant, function, otherwise string
	keys                                []string
	words                               [][2]string // theirs, ours
}

// functions are what is done to a number when it is read, and the inverse.
var functions = map[string][2]func(x float64) float64{
	"below1":   {func(x float64) float64 { return short(1 - x) }, func(y float64) float64 { return short(1 - y) }},
	"above1":   {func(x float64) float64 { return short(x - 1) }, func(y float64) float64 { return short(y + 1) }},
	"percent":  {func(x float64) float64 { return short(100 * x) }, func(y float64) float64 { return y / 100 }},
	"roll":     {func(x float64) float64 { return short(1 + 2*x) }, func(y float64) float64 { return short((y - 1) / 2) }}, // ROLL: max(loss, -A·(1 + 2·pg_clip))
	"least0":   {func(x float64) float64 { return max(x, 0) }, func(y float64) float64 { return y }},
	"positive": {func(x float64) float64 { return cmp.Or(max(x, 0), math.Inf(1)) }, func(y float64) float64 { return y }},
}

// short drops the error of a subtraction.
func short(x float64) float64 { return math.Round(x*1e9) / 1e9 }

func parseGroup(line string) *group {
	part, rest, _ := strings.Cut(strings.TrimPrefix(line, "["), "]")
	g := &group{}
	g.part, g.always = strings.CutSuffix(part, "!")
	if rest = strings.TrimSpace(rest); rest != "" {
		keys, otherwise, _ := strings.Cut(rest, "?")
		g.choose, g.otherwise = strings.Split(keys, "|"), otherwise
		g.keys = slices.Clone(g.choose)
	}
	return g
}

// add reads a row; one that is wrong is a programming fault.
func (g *group) add(line string) {
	words := strings.Fields(line)
	at := slices.IndexFunc(words, func(w string) bool { return slices.Contains([]string{"->", "~>", "<~", ":", "?", "!"}, w) })
	if at < 0 {
		panic("foreign: row " + line)
	}
	if slices.Contains(words, "=") { // the same names here: a row each
		for name := range strings.SplitSeq(words[0], ",") {
			g.add(strings.Replace(strings.Replace(strings.Join(words, " ")+" ", words[0], name, 1), " = ", " "+name+" ", 1))
		}
		return
	}
	r := &row{written: words[at] == "~>", older: words[at] == "<~"}
	for _, w := range words[:at] {
		c := cond{keys: g.choose, otherwise: g.otherwise}
		key, values, stated := strings.Cut(w, "=")
		switch {
		case w == "*":
			continue
		case stated:
			key, c.not = strings.CutSuffix(key, "!")
			key, c.otherwise, _ = strings.Cut(key, "?")
			c.keys, c.values = strings.Split(key, "|"), strings.Split(values, ",")
		case w[0] == '?' || w[0] == '!':
			c.keys, c.not = strings.Split(w[1:], "|"), w[0] == '!'
		default:
			c.values = strings.Split(w, ",")
		}
		g.keys = append(g.keys, c.keys...)
		r.conds = append(r.conds, c)
	}
	if words[at] != "->" && !r.written && !r.older {
		r.verdict, r.why = words[at], strings.Join(words[at+1:], " ")
		g.rows = append(g.rows, r)
		return
	}
	for i, text := range strings.Split(strings.Join(words[at+1:], " "), " ; ") {
		w := strings.Fields(text)
		p := piece{part: g.part, name: w[0]}
		if i > 0 {
			p.part, p.name, w = w[0], w[1], w[1:]
			if p.part == "note" {
				p.name, w = strings.Join(w, " "), w[:1]
			}
		}
		for _, text := range w[1:] {
			p.fields = append(p.fields, parseField(text))
			g.keys = append(g.keys, p.fields[len(p.fields)-1].keys...)
		}
		r.parts = append(r.parts, p)
	}
	g.rows = append(g.rows, r)
}

func parseField(text string) field {
	at := strings.IndexAny(text, ":=")
	if at < 0 {
		panic("foreign: field " + text)
	}
	f := field{name: text[:at]}
	if text[at] == ':' {
		f.constant = text[at+1:]
		return f
	}
	keys := text[at+1:]
	if function, rest, ok := strings.Cut(keys, "@"); ok {
		f.function, keys = function, rest
	}
	keys, f.otherwise, _ = strings.Cut(keys, "?")
	f.keys = strings.Split(keys, "|")
	if words, ok := strings.CutPrefix(f.function, "{"); ok {
		f.function = ""
		for word := range strings.SplitSeq(strings.TrimSuffix(words, "}"), ",") {
			theirs, ours, other := strings.Cut(word, ">")
			if !other {
				ours = theirs
			}
			f.words = append(f.words, [2]string{theirs, ours})
		}
	}
	return f
}

// read is the field's value, and whether it has one.
func (f field) read(v *values) (text string, ok bool) {
	if f.keys == nil {
		return f.constant, true
	}
	key := v.first(f.keys...)
	if f.otherwise == "" && !v.has(key) {
		return "", false
	}
	switch {
	case f.function == "kl":
		text = v.text(key, f.otherwise)
		name, ok := penalties[strings.ToLower(text)]
		if !ok && v.has(key) {
			v.leave(key, noCounterpart(text))
		}
		return name, ok
	case f.words != nil:
		var known []string
		for _, w := range f.words {
			known = append(known, w[0])
		}
		text = v.choice(key, f.otherwise, known...)
		for _, w := range f.words {
			if w[0] == text {
				return w[1], true
			}
		}
		return text, text != ""
	case f.otherwise == "true" || f.otherwise == "false" || f.function == "truth":
		return fmt.Sprint(v.truth(key, f.otherwise == "true") != (f.function == "not")), true
	}
	otherwise, _ := strconv.ParseFloat(strings.Replace(f.otherwise, ".inf", "inf", 1), 64)
	x := v.number(key, otherwise)
	if f.function != "" {
		x = functions[f.function][0](x)
	}
	return decimal(x), f.function != "above1" || x >= 0 // a bound of the ratio below 1 bounds nothing above
}

// holds reports whether a condition is met.
func (c cond) holds(v *values) bool {
	if c.values == nil {
		return v.any(c.keys...) != c.not
	}
	key := v.first(c.keys...)
	if len(c.values) == 1 && (c.values[0] == "true" || c.values[0] == "false") {
		return fmt.Sprint(v.truth(key, c.otherwise == "true")) == c.values[0]
	}
	text := v.text(key, c.otherwise)
	number, err := strconv.ParseFloat(text, 64)
	return (text != "" || !c.not) && c.not != slices.ContainsFunc(c.values, func(x string) bool {
		if y, failed := strconv.ParseFloat(x, 64); err == nil && failed == nil {
			return number == y
		}
		if begin, ok := strings.CutSuffix(x, "*"); ok {
			return strings.Contains(text, begin)
		}
		return strings.EqualFold(x, text)
	})
}

func (c cond) String() string {
	key := c.keys[0]
	switch {
	case c.values != nil && c.not:
		return key + " other than " + strings.Join(c.values, " or ")
	case c.values != nil:
		return key + " = " + strings.Join(c.values, " or ")
	case c.not:
		return "no " + key
	}
	return key
}

// vocabulary lists the values that the groups know of a key.
func (t *table) vocabulary(key string) (words []string) {
	for _, g := range t.groups {
		for _, r := range g.rows {
			for _, c := range r.conds {
				if slices.Contains(c.keys, key) && c.values != nil && !c.not && !r.written {
					words = append(append(words, c.values...), c.otherwise)
				}
			}
			for _, p := range r.parts {
				for _, f := range p.fields {
					if f.function == "kl" && slices.Contains(f.keys, key) {
						words = slices.AppendSeq(words, maps.Keys(penalties)) // looked up, in any order
					}
					for _, w := range f.words {
						if slices.Contains(f.keys, key) {
							words = append(words, w[0])
						}
					}
				}
			}
		}
	}
	return words
}

// known checks the values of the keys that choose a row: one that is not known is a fault where it is the correction's, else left.
func (g *group) known(v *values, checked map[string]bool) bool {
	for _, r := range g.rows {
		for _, c := range r.conds {
			key := v.first(c.keys...)
			if c.values == nil || c.not || r.written || checked[key] || !v.has(key) {
				continue
			}
			checked[key] = true
			words := v.framework.table.vocabulary(key)
			text := v.by[key].Text
			switch {
			case slices.ContainsFunc(words, func(w string) bool {
				return strings.EqualFold(w, text) || w == "true" || w == "false" || strings.HasSuffix(w, "*") || strings.Trim(w, "-0123456789") == "" && w != ""
			}):
			case slices.Equal(c.keys, g.choose) && v.framework.table.find(key) != nil:
				if !slices.ContainsFunc(g.rows, func(r *row) bool { return len(r.conds) == 0 }) {
					v.leavePart(key, g.part, noCounterpart(text))
					return false
				}
			default:
				slices.Sort(words)
				v.choice(key, "", slices.Compact(slices.DeleteFunc(words, func(w string) bool { return w == "" }))...)
				return false
			}
		}
	}
	return true
}

// noCounterpart says why a value is left.
func noCounterpart(text string) string { return fmt.Sprintf("%q has no counterpart here", text) }

// leavePart leaves a key of a part of a recipe; of the loss and the advantage that changes the objective.
func (v *values) leavePart(key, part, why string) {
	v.leave(key, why)
	if part == "loss" || part == "advantage" {
		v.other = append(v.other, fmt.Sprintf("`%s` = %s", v.by[key].Path, v.by[key].Text))
	}
}

func (f *framework) readGroups(v *values, c *Config) {
	l := &lossFields{}
	checked := map[string]bool{} // those that an earlier group chooses by
	for _, g := range f.table.groups {
		if (g.always || v.any(g.keys...)) && g.known(v, checked) {
			g.read(v, c, l)
		}
	}
	for _, g := range f.table.groups { // a key may belong to several
		for _, r := range g.rows {
			g.leave(v, r)
		}
	}
	if l.name != "" {
		c.Loss = "{" + strings.Join(append([]string{"name: " + l.name}, l.fields...), ", ") + "}"
	}
}

// read takes the first row whose conditions hold.
func (g *group) read(v *values, c *Config, l *lossFields) {
	at := slices.IndexFunc(g.rows, func(r *row) bool {
		return !r.written && !slices.ContainsFunc(r.conds, func(x cond) bool { return !x.holds(v) })
	})
	if at < 0 {
		return
	}
	r := g.rows[at]
	keys := slices.Clone(g.choose)
	for _, x := range r.conds {
		keys = append(keys, x.keys...)
	}
	switch r.verdict {
	case "!":
		c.Off = r.why
	case "?":
		c.Unknown = r.why
		c.note("%s", r.why)
	}
	if r.verdict != "" {
		for _, key := range keys {
			if v.has(key) && r.verdict != "!" {
				v.leavePart(key, g.part, r.why)
			}
		}
		return
	}
	for _, key := range keys {
		v.chose[key] = true
	}
	for _, first := range []bool{true, false} {
		for _, p := range r.parts {
			if first == (p.part == "anchor") { // a schedule may need it
				p.take(v, c, l, slices.Clone(keys))
			}
		}
	}
}

// take puts a piece into the recipe.
func (p piece) take(v *values, c *Config, l *lossFields, keys []string) {
	var fields []string
	coef := "1"
	for _, f := range p.fields {
		text, ok := f.read(v)
		if !ok {
			if p.part == "kl" && f.name == "name" {
				return
			}
			continue
		}
		keys = append(keys, f.keys...)
		switch f.name {
		case "name":
			p.name = text
			continue
		case "coef":
			coef = text
		case "aggregation":
			if l.own = text == "own"; l.own {
				continue
			}
		case "batch_normalize":
			c.Pipeline.BatchNormalize = text == "true"
			continue
		}
		if section, name, nested := strings.Cut(f.name, "."); nested { // a field of a section within the method
			if last := len(fields) - 1; last >= 0 && strings.HasPrefix(fields[last], section+": {") {
				fields[last] = strings.TrimSuffix(fields[last], "}") + ", " + name + ": " + text + "}"
				continue
			}
			f.name, text = section, "{"+name+": "+text+"}"
		}
		fields = append(fields, f.name+": "+text)
	}
	text := "{" + strings.Join(append([]string{"name: " + p.name}, fields...), ", ") + "}"
	if p.name == "-" { // the framework's reader takes it
		return
	}
	switch p.part {
	case "loss":
		l.name, l.fields = p.name, append(fields, l.fields...)
	case "aggregation":
		for _, f := range fields {
			p.name += ":" + strings.TrimPrefix(f, "scale: ")
		}
		if l.own {
			v.leave(v.first(keys...), "the loss "+l.name+" has an aggregation of its own")
		} else {
			l.fields = append(l.fields, "aggregation: "+p.name)
		}
	case "weights":
		if p.name != "none" {
			c.Pipeline.Weights = newMethod[correction.Weighting](p.name, fields)
		}
		if c.Pipeline.Order == correction.Sequential {
			c.Pipeline.WeightsAfter = len(c.Pipeline.Masks)
		}
	case "mask":
		c.Pipeline.Masks = append(c.Pipeline.Masks, newMethod[correction.Masking](p.name, fields))
	case "mode":
		c.Pipeline.Mode = correction.Mode(p.name)
	case "clamp":
		c.Pipeline.Clamp = math.Inf(1)
	case "routing":
		if p.name != "none" {
			c.Routing = "{replay: " + p.name + "}"
		}
	case "note":
		c.note("%s", p.name)
	case "terms":
		if coef == "0" && len(fields) == 1 {
			return
		}
		if i := slices.IndexFunc(c.extra, func(e extra) bool { return strings.HasPrefix(e.assignment, "terms=") }); i >= 0 {
			text = strings.TrimSuffix(strings.TrimPrefix(c.extra[i].assignment, "terms=["), "]") + ", " + text
			c.extra[i] = extra{"terms=[" + text + "]", append(c.extra[i].keys, keys...)}
			return
		}
		c.take("terms", "["+text+"]", keys...)
	case "schedule", "advantage", "kl":
		if coef == "0" {
			text = "{name: none}"
		}
		c.take(p.part, text, keys...)
	case "anchor": // in bypass mode the rollout engine is it
		if c.Pipeline.Mode != correction.Bypass {
			c.take("anchor", p.name, keys...)
		}
	case "lora":
		c.take("lora", "{"+strings.Join(fields, ", ")+"}", keys...)
	case "reward": // its lengths are those of the real model
		c.take("reward", "[{name: exact}, "+text+"]", keys...)
		c.note("the penalty of long responses is the recipe's reward overlong, with max_length and buffer of the recipe's own task")
	case "support":
		c.take("support", "{replay: true}", keys...)
	default:
		c.take(p.part, p.name, keys...)
	}
}

// newMethod is a method with parameters; a table that names what is not there is a programming fault.
func newMethod[T any](name string, fields []string) T {
	choice, err := recipe.Choose[T](name)
	if err == nil {
		err = yaml.Unmarshal([]byte("{"+strings.Join(fields, ", ")+"}"), choice.Params)
	}
	if err != nil {
		panic("foreign: " + name + ": " + err.Error())
	}
	return choice.Params
}

// leave says of the keys that nothing has read with what they act.
func (g *group) leave(v *values, r *row) {
	var with []string
	for _, c := range r.conds {
		with = append(with, c.String())
	}
	for _, p := range r.parts {
		for _, f := range p.fields {
			if with != nil {
				v.leaveUnread("it acts with "+strings.Join(with, " and "), f.keys...)
			}
		}
	}
}
