package foreign

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"driftlab/trainer/method/correction"
	"driftlab/trainer/recipe"
	"driftlab/trainer/recipe/foreign/source"
)

// Writable lists the frameworks that Write knows.
func Writable() []string {
	var list []string
	for _, f := range frameworks() {
		if f.syntax != "" {
			list = append(list, f.name)
		}
	}
	return list
}

// writing collects what is written, and what cannot be said.
type writing struct {
	framework *framework
	had, want map[string]any
	// before and after are their values by path.
	before, after map[string]string
	recipe        recipe.Recipe
	pipeline      *correction.Pipeline
	pairs         []pair
	comment       string
	notes         []string
	// skip leaves out rows that would not go with the rest.
	skip func(r *row) bool
	// unweighted says why a mask that is left has no row without weights.
	unweighted string
	// inLoss says that a correction was written in other words than those that are read.
	inLoss bool
}

// pair is a key with its value; flag is one that stands alone.
type pair struct{ key, value string }

func (w *writing) cannot(what string) { w.notes = append(w.notes, w.framework.name+" has no "+what) }

func (w *writing) set(key, value string) {
	if !slices.ContainsFunc(w.pairs, func(p pair) bool { return p.key == key }) {
		w.pairs = append(w.pairs, pair{key, value})
	}
}

// shown is a value as it stands in a recipe.
func shown(x any) string {
	switch x := x.(type) {
	case float64:
		return decimal(x)
	case nil:
		return ""
	case map[string]any:
		if len(x) == 0 {
			return "{}"
		}
	}
	return fmt.Sprint(x)
}

// all writes every part that the framework has.
func (w *writing) all() {
	f := w.framework
	whole, part := w.minibatches()
	if f.hooks.write != nil {
		f.hooks.write(w)
	} else {
		w.correction()
	}
	for _, p := range f.also {
		w.set(p.key, p.value)
	}
	if part > 0 {
		w.set(f.batch.part[0], strconv.Itoa(part))
	} else if whole > 0 {
		w.set(f.batch.steps, strconv.Itoa(whole))
	}
	for _, g := range f.table.groups {
		if g.part == "weights" || g.part == "mask" || g.part == "aggregation" || g.part == "note" {
			continue
		}
		own, ok := w.want[g.part].(map[string]any)
		if g.part == "mode" {
			own, ok = map[string]any{"name": string(w.pipeline.Mode)}, w.pipeline.Mode == correction.Bypass
		} else if fmt.Sprint(w.want[g.part]) == fmt.Sprint(w.had[g.part]) {
			continue
		}
		switch {
		case g.part == "routing" && ok:
			own = map[string]any{"name": own["replay"]}
		case g.part == "terms":
			if list, many := w.want[g.part].([]any); many && len(list) == 1 {
				own, ok = list[0].(map[string]any)
			}
		}
		if ok {
			w.group(g, own)
		}
	}
	for _, e := range f.table.order {
		if value := w.after[e.field]; e.direct && !e.format && value != w.before[e.field] {
			w.set(e.key, value)
			if at := slices.IndexFunc(f.table.order, func(o *entry) bool { return o.field == e.field }); f.table.order[at] != e {
				w.pairs = w.pairs[:len(w.pairs)-1] // an older name of the key
			}
		}
	}
}

// minibatches are the prompts of a batch and of each of its updates, for a framework that states both, else the number of updates; zero for
// one update per batch, and where the parts would not be equal.
func (w *writing) minibatches() (whole, part int) {
	b := w.framework.batch
	r, n := w.recipe, w.recipe.Learner.Minibatches
	switch whole = r.Rollout.Prompts; {
	case n <= 1 || b.part == nil && b.steps == "":
		return 0, 0
	case b.steps != "":
		return n, 0
	case whole%n != 0:
		w.cannot(fmt.Sprintf("%d updates of equal size for %d prompts", n, whole))
		return 0, 0
	}
	w.set(b.whole[0], strconv.Itoa(whole))
	w.comment = fmt.Sprintf("with another: %s = %s / %d", last(b.part[0]), last(b.whole[0]), n)
	if b.group != nil {
		return whole, whole / n * r.Rollout.Group
	}
	return whole, whole / n
}

// correction writes the weights and the masks: a row that has both, or one of each.
func (w *writing) correction() {
	section := w.want["correction"].(map[string]any)
	weights, _ := section["weights"].(map[string]any)
	var masks []map[string]any
	for _, m := range section["masks"].([]any) {
		masks = append(masks, m.(map[string]any))
	}
	used := map[*group]bool{}
	take := func(m matched, g *group) {
		used[g] = true
		w.inLoss = w.inLoss || m.row.written
		for _, p := range m.pairs {
			w.set(p.key, p.value)
		}
		masks = slices.DeleteFunc(masks, func(x map[string]any) bool {
			return slices.ContainsFunc(m.masks, func(y map[string]any) bool { return fmt.Sprint(x) == fmt.Sprint(y) })
		})
		for _, field := range m.lost {
			w.cannot(field)
		}
	}
	if weights["batch_normalize"] = section["batch_normalize"]; section["batch_normalize"] == false {
		delete(weights, "batch_normalize")
	}
	found := weights["name"] == "none"
	for _, part := range []string{"weights", "mask"} {
		for _, g := range w.framework.table.groups {
			if g.part != part || used[g] || part == "weights" && used[nil] {
				continue
			}
			var best matched
			for _, r := range g.rows {
				if w.skip != nil && w.skip(r) {
					continue
				}
				if m := r.match(g, weights, masks); m.better(best) && (part == "mask") == (m.weights == nil) {
					best = m
				}
			}
			if best.row != nil {
				take(best, g)
				found, used[nil] = found || part == "weights", true
			}
		}
		if part == "weights" && !found {
			w.cannot("weights " + shown(weights["name"]))
		}
		used[nil] = false
	}
	for _, m := range masks {
		w.cannot("mask " + shown(m["name"]) + w.unweighted)
	}
}

// matched is a row that says what a recipe has.
type matched struct {
	row     *row
	pairs   []pair
	weights map[string]any
	masks   []map[string]any
	// lost are the fields that the row leaves out.
	lost []string
}

// better prefers what loses less and then what says more; the first of equals wins.
func (m matched) better(than matched) bool {
	return m.row != nil && (than.row == nil || len(m.lost) < len(than.lost) || len(m.lost) == len(than.lost) && len(m.masks) > len(than.masks))
}

// match finds what of the weights and masks a row says.
func (r *row) match(g *group, weights map[string]any, masks []map[string]any) (m matched) {
	if !r.writable() {
		return m
	}
	for _, p := range r.parts {
		switch {
		case p.part != "weights" && p.part != "mask":
			continue
		case p.part == "weights":
			pairs, lost, ok := p.match(weights, false)
			if !ok {
				return matched{}
			}
			m.weights, m.pairs, m.lost = weights, append(m.pairs, pairs...), append(m.lost, lost...)
			continue
		}
		found := false
		for _, mask := range masks {
			if pairs, lost, ok := p.match(mask, false); ok {
				m.masks, m.pairs, m.lost, found = append(m.masks, mask), append(m.pairs, pairs...), append(m.lost, lost...), true
				break
			}
		}
		if !found {
			return matched{}
		}
	}
	m.row, m.pairs = r, append(r.stated(g), m.pairs...)
	return m
}

// group writes one part by the row that loses least.
func (w *writing) group(g *group, own map[string]any) {
	var best matched
	for _, r := range g.rows {
		if !r.writable() {
			continue
		}
		pairs, lost, ok := r.parts[0].match(own, w.framework.syntax == "toml" && g.part == "loss")
		if m := (matched{row: r, pairs: append(r.stated(g), pairs...), lost: lost}); ok && m.better(best) {
			best = m
		}
	}
	if best.row == nil {
		return
	}
	for _, p := range best.pairs {
		w.set(p.key, p.value)
	}
	if g.part == "loss" && !slices.ContainsFunc(best.row.parts[0].fields, func(f field) bool { return f.name == "aggregation" }) {
		w.aggregation(shown(own["aggregation"]), shown(usualOf("loss", shown(own["name"]))["aggregation"]))
	}
}

// aggregation writes how the loss is summed, where it is not as before.
func (w *writing) aggregation(own, before string) {
	name, scale, scaled := strings.Cut(own, ":")
	if own == before {
		return
	}
	for _, g := range w.framework.table.groups {
		for _, r := range g.rows {
			if g.part == "aggregation" && r.verdict == "" && !r.older && r.parts[0].name == name && len(r.parts[0].fields) > 0 == scaled {
				for _, p := range r.stated(g) {
					w.pairs = slices.DeleteFunc(w.pairs, func(x pair) bool { return x.key == p.key }) // where the loss and its sum have one key
					w.set(p.key, p.value)
				}
				if scaled {
					w.set(r.parts[0].fields[0].keys[0], scale)
				}
				return
			}
		}
	}
}

// writable reports whether its conditions are settings that it states.
func (r *row) writable() bool {
	return r.verdict == "" && !r.older && !slices.ContainsFunc(r.conds, func(c cond) bool {
		given := slices.ContainsFunc(r.parts, func(p piece) bool {
			return slices.ContainsFunc(p.fields, func(f field) bool { return len(f.keys) > 0 && slices.Contains(c.keys, f.keys[0]) })
		})
		return c.keys[0] == "program" || c.keys[0] == "file" || !given && (c.values == nil && !c.not || c.values != nil && c.not)
	})
}

// stated are the conditions of a row as settings.
func (r *row) stated(g *group) (pairs []pair) {
	for _, c := range r.conds {
		usual := c.values != nil && c.values[0] == c.otherwise && g.part != "weights" && g.part != "mask" && !slices.Equal(c.keys, g.choose)
		if c.values != nil && !c.not && !usual && !(len(c.values) == 1 && c.values[0] == "false" && c.otherwise != "true") {
			pairs = append(pairs, pair{c.keys[0], strings.TrimSuffix(c.values[0], "*")})
		}
	}
	return pairs
}

// match is a piece as settings, if it says what a method has: the fields that it leaves out are lost, unless they are the method's defaults.
func (p piece) match(section map[string]any, pointed bool) (pairs []pair, lost []string, ok bool) {
	own := leaves(section)
	said := map[string]bool{"name": true, "aggregation": true}
	if p.name != own["name"] && !slices.ContainsFunc(p.fields, func(f field) bool { return f.name == "name" }) {
		return nil, nil, false
	}
	usual := leaves(usualOf(p.part, own["name"]))
	for _, f := range p.fields {
		said[f.name] = true
		theirs, ok := f.write(own[f.name])
		switch {
		case f.keys == nil && f.name == "aggregation": // a group of its own, or the loss's
		case !ok:
			return nil, nil, false
		case f.keys != nil && theirs != "" && (f.otherwise != "" || theirs != "0" || usual[f.name] != "0"):
			if x, err := strconv.ParseFloat(theirs, 64); err == nil && (p.part == "weights" || p.part == "mask" || pointed) {
				theirs = number(x)
			}
			if slices.ContainsFunc(pairs, func(x pair) bool { return x.key == f.keys[0] && x.value != theirs }) {
				return nil, nil, false // one key for two fields that differ
			}
			pairs = append(pairs, pair{f.keys[0], theirs})
		}
	}
	for _, field := range slices.Sorted(maps.Keys(own)) {
		if !said[field] && own[field] != usual[field] {
			lost = append(lost, fmt.Sprintf("%s of %s", field, own["name"]))
		}
	}
	return pairs, lost, true
}

// usualOf are the parameters of a method by default, made once.
func usualOf(part, name string) map[string]any {
	field := cmp.Or(map[string]string{"weights": "correction.weights", "mask": "correction.masks"}[part], part)
	return once(&usuals, part+" "+name, func() (usual map[string]any) {
		all := recipe.Methods()
		at := slices.IndexFunc(all, func(m recipe.Method) bool { return m.Field == field && m.Name == name })
		if at < 0 {
			return nil
		}
		text, err := all[at].Defaults.MarshalJSON()
		if err == nil {
			err = json.Unmarshal(text, &usual)
		}
		if err != nil {
			panic("foreign: " + name + ": " + err.Error())
		}
		return usual
	})
}

// write is a value in the framework's words: empty where the framework has it switched off without a word.
func (f field) write(text string) (string, bool) {
	if f.keys == nil {
		return "", text == f.constant || f.constant == "own"
	}
	if text == "" && f.otherwise == "false" || text == "false" && f.otherwise == text && f.function == "" {
		return "", true
	}
	if f.words != nil {
		for _, w := range f.words {
			if w[1] == text {
				return w[0], true
			}
		}
		return "", false
	}
	switch f.function {
	case "kl":
		return text, penalties[text] == text
	case "truth":
		return text, text == "true" || text == "false"
	case "not":
		return fmt.Sprint(text == "false"), text == "true" || text == "false"
	}
	if text == "true" || text == "false" {
		return text, true
	}
	x, err := strconv.ParseFloat(strings.Replace(text, ".inf", "inf", 1), 64)
	if err != nil {
		return "", text == "" && f.otherwise == ""
	}
	if f.function != "" {
		x = functions[f.function][1](x)
		if y := functions[f.function][0](x); decimal(y) != text {
			return "", false
		}
	}
	usual, err := strconv.ParseFloat(strings.Replace(f.otherwise, ".inf", "inf", 1), 64)
	if err == nil && x == usual && (x == 0 || math.IsInf(x, 0)) {
		return "", true
	}
	return decimal(x), true
}

func (w *writing) text() string {
	var words []string
	table, file := "", ""
	for i, p := range w.pairs { // the first entry of a list is written first
		if base, ok := strings.CutSuffix(p.key, ".0"); ok {
			if at := slices.IndexFunc(w.pairs[:i], func(x pair) bool { return x.key == base+".1" }); at >= 0 {
				w.pairs[i], w.pairs[at] = w.pairs[at], w.pairs[i]
			}
		}
	}
	for _, p := range w.pairs {
		key, value := w.framework.path(p.key), p.value
		if w.framework.mark != "" { // its own paths
			value = strings.Replace(value, "slime.", w.framework.mark+".", 1)
		}
		plain := value == "true" || value == "false" || value == "null" || value == ".inf" || strings.Trim(value, "0123456789.e+-") == ""
		switch w.framework.syntax {
		case "flags", "dashes":
			if w.framework.inFile != nil && w.framework.inFile.MatchString(key) {
				file += key + ": " + value + "\n"
				continue
			}
			entry := key[strings.LastIndexByte(key, '.')+1:]
			if key = "--" + strings.TrimSuffix(key, "."+entry); !source.IsNumber(entry) {
				key = "--" + w.framework.path(p.key)
			} else if entry != "0" { // the next value of a list
				words[len(words)-1] += " " + strings.TrimPrefix(value, ".")
				continue
			}
			if w.framework.syntax == "dashes" {
				key = strings.ReplaceAll(key, "_", "-")
			}
			if value != "true" {
				key += " " + strings.TrimPrefix(value, ".")
			}
			words = append(words, key)
		case "overrides":
			words = append(words, key+"="+strings.TrimPrefix(value, "."))
		case "call":
			switch {
			case value == "true" || value == "false":
				value = strings.ToUpper(value[:1]) + value[1:]
			case value == ".inf":
				value = `float("inf")`
			case !plain:
				value = strconv.Quote(value)
			}
			words = append(words, key+"="+value)
		case "toml":
			if at := key[:max(strings.LastIndexByte(key, '.'), 0)]; at != table {
				words, table = append(words, "["+at+"]"), at
			}
			if !plain {
				value = strconv.Quote(value)
			}
			words = append(words, last(key)+" = "+strings.TrimPrefix(value, "."))
		}
	}
	end := "\n"
	if w.comment != "" {
		end = " # " + w.comment + "\n"
	}
	switch w.framework.syntax {
	case "call":
		return w.framework.program + "(" + strings.Join(words, ", ") + ")" + end
	case "toml":
		return strings.Join(words, "\n") + end
	case "yaml":
		return w.yaml(end)
	}
	return strings.Join(words, " ") + end + file
}

// yaml writes a section a line, with the comment in the first.
func (w *writing) yaml(end string) string {
	var top branches
	for _, p := range w.pairs {
		value := p.value
		if strings.Contains(value, ",") || strings.Count(value, "_") == 1 && strings.Trim(value, "0123456789._") == "" {
			value = strconv.Quote(value)
		}
		top.add(strings.Split(w.framework.path(p.key), "."), value)
	}
	lines := top.lines()
	lines[0] += strings.TrimSuffix(end, "\n")
	return strings.Join(lines, "\n") + "\n"
}

// RecipeLine writes changes as a recipe has them: "a.b=1" and "a.c=2" are "a: {b: 1, c: 2}".
func RecipeLine(changes []string) string {
	var top branches
	for _, c := range changes {
		path, value, _ := strings.Cut(c, "=")
		top.add(strings.Split(path, "."), value)
	}
	return strings.Join(top.lines(), "\n")
}

// branches is a tree of settings in the order in which they were set.
type branches struct {
	names []string
	of    []*branches
	value string
}

func (t *branches) add(path []string, value string) {
	if len(path) == 0 {
		t.value = value
		return
	}
	at := slices.Index(t.names, path[0])
	if at < 0 {
		at = len(t.names)
		t.names, t.of = append(t.names, path[0]), append(t.of, &branches{})
	}
	t.of[at].add(path[1:], value)
}

// lines are the branches, each with its name.
func (t *branches) lines() (list []string) {
	for i, name := range t.names {
		list = append(list, name+": "+t.of[i].String())
	}
	return list
}

func (t *branches) String() string {
	switch {
	case len(t.names) == 0:
		return t.value
	case len(t.names) == 1 && t.names[0] == "0":
		return "[" + t.of[0].String() + "]"
	}
	return "{" + strings.Join(t.lines(), ", ") + "}"
}

// number is the shortest text that reads back, with a point.
func number(x float64) string {
	text := strconv.FormatFloat(x, 'g', -1, 64)
	if x == math.Trunc(x) && math.Abs(x) < 1e6 {
		text = strconv.FormatFloat(x, 'f', 1, 64)
	}
	return text
}
