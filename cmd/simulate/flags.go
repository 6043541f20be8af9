package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"driftlab/results/stats"
	"driftlab/trainer/method"
	"driftlab/trainer/recipe"

	"github.com/alecthomas/kong"
)

// The flags, in the groups that commands take. A command offers those it uses
// and no others.

// jsonFlag is of every command that prints figures.
type jsonFlag struct {
	JSON bool `name:"json" help:"Print one JSON document, and nothing else, on standard output."`
}

// outFlag is of every command that can write files.
type outFlag struct {
	Out string `help:"Folder to write to." placeholder:"DIR" complete:"dirs"`
}

// workFlags are the flags of long work.
type workFlags struct {
	Quiet   bool   `short:"q" help:"No progress on standard error."`
	Workers number `help:"Cores to use; 0 means all. Results do not depend on it." default:"0" max:"4096" placeholder:"N" aliases:"threads"`
}

func (f *workFlags) workers() int {
	if f.Workers > 0 {
		return int(f.Workers)
	}
	return runtime.GOMAXPROCS(0)
}

// recipeFlags are the flags of every command that reads recipes.
type recipeFlags struct {
	Seed *seed    `help:"Seed of all random numbers: short for --set seed=N." placeholder:"N"`
	Set  []string `sep:"none" help:"Change a field of the recipe; may be repeated." placeholder:"PATH=VALUE" complete:"fields"`

	shorthands []shorthand
	before     []recipe.Change // of another origin, which the flags change further
}

// common are the flags of the commands that run recipes.
type common struct {
	jsonFlag
	recipeFlags
	outFlag
	workFlags
}

type shorthand struct{ flag, path, value string }

// assignment is what --set would take.
func (s shorthand) assignment() string { return s.path + "=" + s.value }

// setBy makes a flag that was given an assignment to a field.
func (f *recipeFlags) setBy(flag, path, value string) {
	if value != "" {
		f.shorthands = append(f.shorthands, shorthand{flag, path, value})
	}
}

// named are the flags with a name of their own that were given, the seed last.
func (f *recipeFlags) named() []shorthand {
	if f.Seed == nil {
		return f.shorthands
	}
	return append(f.shorthands[:len(f.shorthands):len(f.shorthands)], shorthand{"--seed", "seed", strconv.FormatUint(uint64(*f.Seed), 10)})
}

// sets are the assignments of the flags, in order: those of --set, then those of flags with a name of their own.
func (f *recipeFlags) sets() []string {
	return slices.Concat(f.Set, stats.Map(f.named(), shorthand.assignment))
}

// AfterApply implements kong's hook: it refuses a field that a flag of its own and --set give two values, before anything else
// is looked at.
func (f *recipeFlags) AfterApply() error {
	for _, set := range f.Set {
		path, value, _ := strings.Cut(set, "=")
		for _, s := range f.named() {
			if strings.TrimSpace(path) == s.path && strings.TrimSpace(value) != s.value {
				return bad("%s %s and --set %s give one field two values: leave one out", s.flag, s.value, set)
			}
		}
	}
	return nil
}

func (f *recipeFlags) changes() ([]recipe.Change, error) {
	if err := f.AfterApply(); err != nil { // of the flags that a command takes for others, too
		return nil, err
	}
	list := f.before[:len(f.before):len(f.before)]
	for _, set := range f.sets() {
		c, err := recipe.ParseChange("--set", set)
		if err != nil {
			return nil, f.asTyped(err)
		}
		list = append(list, c)
	}
	return list, nil
}

// choosesLoss reports whether the flags set the loss, its anchor or the updates per step: whoever does wants to know that a clip cannot
// act; in other recipes that is as usual.
func (f *recipeFlags) choosesLoss() bool { return slices.ContainsFunc(f.sets(), isLoss) }

// isLoss reports whether an assignment is to one of those fields.
func isLoss(set string) bool {
	return slices.ContainsFunc([]string{"loss", "anchor", "learner.minibatches"}, func(field string) bool {
		rest, ok := strings.CutPrefix(set, field)
		return ok && (rest[:min(len(rest), 1)] == "=" || rest[:min(len(rest), 1)] == ".")
	})
}

// asTyped makes faults name the flag that was typed where it was not --set.
func (f *recipeFlags) asTyped(err error) error {
	var faults recipe.Faults
	if !errors.As(err, &faults) {
		return err
	}
	for i := range faults {
		for _, s := range f.shorthands {
			if faults[i].Source == "--set "+s.assignment() {
				faults[i].Source = s.flag + " " + s.value
				faults[i].Path = strings.TrimPrefix(strings.TrimPrefix(faults[i].Path, s.path), ".")
			}
		}
	}
	return faults
}

// checkGiven is the error for a flag or an argument that was given the empty text, as an unset variable of a shell gives it: it would
// pass for one that was left out. It is also the error for one without effect: the tag needs of a flag names those of which one is to be
// given with it, the tag overrides those that do nothing next to it.
func checkGiven(k *kong.Context) error {
	if node := k.Selected(); node != nil && node.Hidden {
		return nil // the words that completion looks at
	}
	given := map[string]*kong.Tag{}
	for _, p := range k.Path {
		name, value := "", p.Positional
		switch {
		case p.Flag != nil:
			name, value = "--"+p.Flag.Name, p.Flag.Value
		case p.Positional != nil:
			name = "<" + p.Positional.Name + ">"
		default:
			continue
		}
		if isEmpty(value.Target) {
			return bad("%s: the value is empty: give a value, or leave the flag out (is a shell variable unset?)", name)
		}
		given[name] = value.Tag
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		isGiven := func(other string) bool { return given[other] != nil }
		if needs := strings.Fields(given[name].Get("needs")); len(needs) > 0 && !slices.ContainsFunc(needs, isGiven) {
			return bad("%s: without %s, %s has no effect: leave %[3]s out", commandName(selected(k)), needs[0], name)
		}
		for _, other := range strings.Fields(given[name].Get("overrides")) {
			if isGiven(other) {
				return bad("%s: next to %s, %s has no effect: leave %[3]s out", commandName(selected(k)), name, other)
			}
		}
	}
	return nil
}

// isEmpty reports whether a value is blank text, or a list without a value or with a blank one.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return strings.TrimSpace(v.String()) == ""
	case reflect.Slice:
		for i := range v.Len() {
			if isEmpty(v.Index(i)) {
				return true
			}
		}
		return v.Len() == 0
	}
	return false
}

// number is a whole number between the bounds of its flag's tags: min, 0 where
// there is none, and max.
type number int

func (n *number) Decode(ctx *kong.DecodeContext) error {
	low, high := bound(ctx.Value.Tag, "min", 0), bound(ctx.Value.Tag, "max", math.MaxInt32)
	return decode(n, ctx, func(text string) (number, error) {
		v, err := strconv.Atoi(text)
		if err != nil || v < low || v > high {
			return 0, fmt.Errorf("%q: give a whole number from %d to %d", text, low, high)
		}
		return number(v), nil
	})
}

// bound is a number in a flag's tag.
func bound(tag *kong.Tag, name string, otherwise int) int {
	if v, err := strconv.Atoi(tag.Get(name)); err == nil {
		return v
	}
	return otherwise
}

// seed is any number of 64 bits.
type seed uint64

func (s *seed) Decode(ctx *kong.DecodeContext) error {
	return decode(s, ctx, func(text string) (seed, error) {
		v, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%q: a seed is a whole number from 0 to %d", text, uint64(math.MaxUint64))
		}
		return seed(v), nil
	})
}

// byteSize is a number of bytes: 512MB, 4GB.
type byteSize int64

func (b *byteSize) Decode(ctx *kong.DecodeContext) error {
	return decode(b, ctx, func(text string) (byteSize, error) {
		upper := strings.ToUpper(text)
		digits := strings.TrimRight(upper, "BIMGT")
		shift, known := map[string]int{"MB": 20, "MIB": 20, "M": 20, "GB": 30, "GIB": 30, "G": 30, "TB": 40, "TIB": 40, "T": 40}[upper[len(digits):]]
		x, err := strconv.ParseFloat(digits, 64)
		size := math.Ldexp(x, shift)
		if err != nil || !known || !(size >= 64<<20 && size <= 1<<50) {
			return 0, fmt.Errorf("%q: give a size from 64MB on, as 512MB or 4GB", text)
		}
		return byteSize(size), nil
	})
}

// decode reads a flag's value as it stands, also one that starts with a minus.
func decode[T any](to *T, ctx *kong.DecodeContext, read func(text string) (T, error)) error {
	token := ctx.Scan.Pop()
	if token.IsEOL() {
		return errors.New("the value is missing: give a number")
	}
	v, err := read(fmt.Sprint(token.Value))
	if err == nil {
		*to = v
	}
	return err
}

// withSuggestion says what was perhaps meant by a command line that is none.
func withSuggestion(err error, model *kong.Application, args []string) error {
	var parse *kong.ParseError
	if !errors.As(err, &parse) {
		return err
	}
	if flag, ok := strings.CutPrefix(err.Error(), "--"); ok && (strings.Contains(flag, `but got "EOL"`) || strings.Contains(flag, "missing value, expecting")) {
		flag, _, _ = strings.Cut(flag, ":")
		form := "a value"
		if f := flagNamed(selected(parse.Context), "--"+flag); f != nil && f.PlaceHolder != "" {
			form = f.PlaceHolder
		}
		return bad("--%s: the value is missing: write --%[1]s=%s", flag, form)
	}
	if flag, ok := strings.CutPrefix(err.Error(), "unknown flag --"); ok {
		flag, _, _ = strings.Cut(flag, ", did you mean")
		if fix := flagRemedy(flag, valueOf(flag, args), selected(parse.Context), model); fix != "" {
			return bad("unknown flag --%s: %s", flag, fix)
		}
		return err
	}
	// A word that is no command is taken for an argument of the default
	// command, which has none.
	if len(args) > 0 && strings.HasPrefix(err.Error(), "unexpected argument "+args[0]) && !strings.Contains(err.Error(), "did you mean") {
		return unknownCommand(args[0], model.Node)
	}
	return err
}

// unknownCommand is the error for a word that names none of a node's commands.
func unknownCommand(word string, parent *kong.Node) error {
	names := stats.Map(commandWords(parent), func(c completion) string { return c.word })
	if near := method.Nearest(word, names); near != "" {
		return bad("unknown command %q: did you mean %q?", word, near)
	}
	if flagNamed(parent, "--"+word) != nil {
		return bad("unknown command %q: did you mean \"--%[1]s\"?", word)
	}
	return bad("unknown command %q; `simulate --help` lists them", word)
}

// selected is the command that was parsed as far as it went, the default one
// where none was named.
func selected(ctx *kong.Context) *kong.Node {
	return cmp.Or(ctx.Selected(), ctx.Model.DefaultCmd)
}

// flagRemedy says what to write instead of a flag that a command has not: the
// field of the recipe it is, or which commands have that flag. Empty if there is
// neither.
func flagRemedy(flag, value string, command *kong.Node, model *kong.Application) string {
	if fields := fieldsNamed(flag); flagNamed(command, "--set") != nil && len(fields) > 0 {
		sets := stats.Map(fields, func(path string) string { return "--set " + path + "=" + value })
		return "it is a field of the recipe: say " + strings.Join(sets, " or ")
	}
	var holders []string
	for _, leaf := range model.Leaves(true) {
		if name, _, _ := strings.Cut(commandName(leaf), " "); flagNamed(leaf, "--"+flag) != nil && !slices.Contains(holders, name) {
			holders = append(holders, name)
		}
	}
	if len(holders) == 0 {
		return ""
	}
	return fmt.Sprintf("%s does not use it (only: %s)", commandName(command), strings.Join(holders, ", "))
}

// valueOf is what was given to a flag, dots if that is nothing.
func valueOf(flag string, args []string) string {
	for i, arg := range args {
		if value, ok := strings.CutPrefix(arg, "--"+flag+"="); ok {
			return value
		}
		if arg == "--"+flag && i+1 < len(args) && !strings.HasPrefix(args[i+1], "--") {
			return args[i+1]
		}
	}
	return "..."
}

// fieldsNamed are the fields of a recipe with that path or that last name, the
// shortest paths if there are many. Sections have no value to set.
func fieldsNamed(name string) []string {
	name = strings.ReplaceAll(name, "-", "_")
	var fields []string
	for _, f := range recipe.Reference() {
		switch {
		case f.Default == "":
		case f.Path == name:
			return []string{f.Path}
		case strings.HasSuffix(f.Path, "."+name) && !strings.Contains(f.Path, "["):
			fields = append(fields, f.Path)
		}
	}
	slices.SortStableFunc(fields, func(a, b string) int { return len(a) - len(b) })
	const most = 3
	return fields[:min(len(fields), most)]
}

// commandName is how a command is called, without the program's name.
func commandName(command *kong.Node) string {
	_, name, _ := strings.Cut(command.FullPath(), " ")
	return name
}
