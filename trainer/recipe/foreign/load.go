package foreign

import (
	"embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"
)

// tables has a file for each framework: its keys, what they mean here, their defaults, and what was removed. The head of a file
// has a line for each of these:
//
//	@program TEXT...            part of the name of what it starts; @mark: of a value, @root: the first part of its keys
//	@section NAME PATH KEY...   a part of the configuration that belongs to the correction, where it is written, and its keys
//	@loose KEY...               keys of the correction that stand anywhere; @under PATH KEY: where one is written
//	@own BEGINNING...           beginnings of keys that no other framework has
//	@blocks PATH...             sections whose inside may be given alone
//	@whole, @group, @part, @steps, @defaults   see batches
//	@syntax WORD                yaml, flags, dashes, overrides, call or toml; none is written where it is missing. @file KEYS: which keys
//	                            stand in a file of their own, @also KEY VALUE: what goes with every correction
//	@pipeline {...}             what its correction has next to weights and masks
//	@unset FIELD=VALUE          the framework's own value of what a configuration leaves out
//	@removed KEY...: TEXT       keys that the framework had
//	@null KEY VALUE             what null stands for; @block KEY VALUE [KEY]: what stands where the inside of a section is from
//	@given KEY VALUE KEY...     a value where one of the other keys is given; @upper KEY: one value of a pair is its upper bound
//	@why KEY TEXT               why a key is left that is neither false nor 0; @note KEY TEXT: what there is to say of it
//	@same KEY KEY               a key of its own, and one of another framework with its meaning
//	@include NAME, @lines NAME  all that another framework has, or its table alone
//
// Below stand the lines of parseTable and the groups of parts.go.
//
//go:embed tables/*.txt
var tables embed.FS

// frameworks are in the order in which they are listed.
var frameworks = sync.OnceValue(func() (list []*framework) {
	for _, name := range strings.Fields("verl skyrl trl slime vime nemo-rl areal openrlhf roll prime-rl open-instruct ms-swift rllm torchtitan tinker-cookbook") {
		f := &framework{name: name, under: map[string]string{}, null: map[string]string{}, hooks: hooked[name]}
		f.table = parseTable(f.load(name, true))
		f.complete()
		list = append(list, f)
	}
	return list
})

// load takes the head of a file, and returns its table; a file that is wrong is a programming fault.
func (f *framework) load(name string, all bool) (rows string) {
	text, err := tables.ReadFile("tables/" + name + ".txt")
	if err != nil {
		panic(err)
	}
	for line := range strings.Lines(string(text)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(word, "#") {
			continue
		}
		if !strings.HasPrefix(word, "@") {
			rows += line
			continue
		}
		if word == "@include" || word == "@lines" {
			rows += f.load(rest, word == "@include") + "\n"
			continue
		}
		if all {
			f.directive(word, rest, strings.Fields(rest))
		}
	}
	return rows
}

// directive takes a line of the head.
func (f *framework) directive(word, text string, words []string) {
	b := &f.batch
	texts := map[string]*string{"@program": &f.program, "@mark": &f.mark, "@root": &f.root, "@syntax": &f.syntax, "@steps": &b.steps}
	keys := map[string]*[]string{"@loose": &f.loose, "@own": &f.own, "@blocks": &f.blocks, "@whole": &b.whole, "@group": &b.group, "@part": &b.part}
	lines := map[string]*[]string{"@unset": &f.unset, "@removed": &f.removed, "@upper": &f.upper}
	pairs := map[string]*[]pair{"@also": &f.also, "@same": &f.same, "@why": &f.why, "@note": &f.notes}
	first, rest, _ := strings.Cut(text, " ")
	switch {
	case texts[word] != nil:
		*texts[word] = text
	case keys[word] != nil:
		*keys[word] = words
	case lines[word] != nil:
		*lines[word] = append(*lines[word], text)
	case pairs[word] != nil:
		*pairs[word] = append(*pairs[word], pair{first, rest})
	case word == "@section":
		f.sections = append(f.sections, section{words[0], words[1], words[2:]})
	case word == "@under":
		f.under[words[1]] = words[0]
	case word == "@null":
		f.null[words[0]] = words[1]
	case word == "@defaults":
		for i, w := range words {
			b.defaults[i], _ = strconv.ParseFloat(w, 64)
		}
	case word == "@file":
		f.inFile = regexp.MustCompile(text)
	case word == "@pipeline":
		if err := yaml.Unmarshal([]byte(text), &f.pipeline); err != nil {
			panic(fmt.Sprintf("foreign: %s: %v", f.name, err))
		}
	case word == "@block" || word == "@given":
		f.implied = append(f.implied, implied{words[0], words[1], words[2:], word == "@block"})
	default:
		panic("foreign: " + f.name + ": " + word)
	}
}

// implied is the value of a key that is not given, in a block, or where one of other keys is.
type implied struct {
	key, value string
	with       []string
	block      bool
}

// prepare gives keys the values that others imply.
func (f *framework) prepare(v *values, c *Config) {
	for key, value := range f.null { // each for itself, in any order
		if s, given := v.by[key]; given && s.Null && s.Why == "" {
			s.Text, s.Null = value, false
			v.by[key] = s
		}
	}
	for _, i := range f.implied {
		if !v.has(i.key) && (!i.block || v.block) && (i.with == nil || v.any(i.with...)) {
			v.by[i.key] = settingOf(i.value)
		}
	}
	for _, key := range f.upper {
		if s := v.by[key]; v.has(key) {
			v.by[key+".1"] = s
			s.Text = "0"
			v.by[key+".0"] = s
			v.used[key] = true
		}
	}
	if f.hooks.prepare != nil {
		f.hooks.prepare(v, c)
	}
}

func (f *framework) read(v *values, c *Config) {
	f.prepare(v, c)
	f.readGroups(v, c)
	f.batch.read(v, c)
	if f.hooks.read != nil {
		f.hooks.read(v, c)
	}
	stated := func(key string) bool {
		text := strings.ToLower(v.by[key].Text)
		x, err := strconv.ParseFloat(text, 64)
		return v.has(key) && text != "false" && (err != nil || x != 0)
	}
	for _, p := range f.why {
		if stated(p.key) && !v.chose[p.key] {
			v.leave(p.key, p.value)
		}
	}
	for _, p := range f.notes {
		if stated(p.key) {
			c.note("%s", p.value)
		}
	}
	f.table.direct(v, c)
}
