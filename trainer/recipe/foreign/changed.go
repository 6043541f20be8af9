package foreign

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"driftlab/trainer/method/loss"
	"driftlab/trainer/recipe"
)

// NotWritten is shown where WriteChanged has no text for a framework.
const NotWritten = "not written here"

// Write is a recipe's correction, with all else in which it differs from the default recipe, in a framework's own
// syntax. The notes name what the framework cannot say, which is left out, and what differs by a hair.
func Write(name string, r recipe.Recipe) (text string, notes []string) {
	text, notes, _ = write(name, "default", r)
	return text, notes
}

// WriteChanged is what to set in a framework for what assignments, as --set takes them, change of a recipe: the text of
// Write, empty where it has not all of them.
func WriteChanged(framework, base string, assignments []string) (text string, notes []string, err error) {
	want, err := recipe.Load(base, assignments...)
	if err != nil {
		return "", nil, err
	}
	text, notes, lost := write(framework, base, want)
	had, has := partsOf(base), parts(want)
	written := false
	for section := range has { // each for itself, in any order
		switch {
		case fmt.Sprint(had[section]) == fmt.Sprint(has[section]):
		case section == "correction": // pipelines differ in what frameworks have no word for; the notes name what is lost
			written = written || len(notes) == 0
		case !slices.Contains(lost, section):
			written = true
		}
	}
	if !written || len(lost) > 0 {
		text = ""
	}
	return text, notes, nil
}

// write is what a recipe has, of the correction, and what it changes of another. It is read back: each section that its own reader
// does not get from the text is lost, and a note says so.
func write(name, base string, r recipe.Recipe) (text string, notes, lost []string) {
	at := slices.IndexFunc(frameworks(), func(f *framework) bool { return f.name == name && f.syntax != "" })
	if at < 0 {
		return "", []string{"nothing is written for " + name}, nil
	}
	if named, ok := r.Loss.Params.(interface{ Composed() (string, loss.Loss) }); ok { // the name of a loss with an option
		r.Loss.Name, r.Loss.Params = named.Composed()
	}
	w := &writing{framework: frameworks()[at], had: partsOf(base), want: parts(r), recipe: r, pipeline: r.Correction.Pipeline()}
	w.before, w.after = leaves(w.had), leaves(w.want)
	w.all()
	if len(w.pairs) > 0 {
		text = w.text()
	}
	var own []string
	if c, err := ReadAs(name, name, []byte(text)); err == nil {
		own = c.Assignments()
	} // else nothing in the text is the framework's
	back, err := recipe.Load(base, own...)
	if err != nil {
		panic(fmt.Sprintf("foreign: what is written for %s is refused: %v\n%s", name, err, text))
	}
	got := leaves(parts(back))
	for _, path := range slices.Sorted(maps.Keys(w.after)) {
		section, _, _ := strings.Cut(path, ".")
		whole := slices.Contains([]string{"loss", "kl", "advantage", "schedule"}, section) // all its parameters are the method's
		changed := w.after[path] != w.before[path] || whole && fmt.Sprint(w.had[section]) != fmt.Sprint(w.want[section])
		counted := strings.NewReplacer("@pre", "", "@post", "", "dapo", "token-mean") // which differ where tokens are masked, or gradients accumulated
		if !changed || section == "correction" && (w.inLoss || path != "correction.mode") || slices.Contains(lost, section) || counted.Replace(w.after[path]) == counted.Replace(got[path]) {
			continue
		}
		lost = append(lost, section)
		if whole {
			path = section
		}
		w.notes = append(w.notes, name+"'s setting for "+path+" is "+NotWritten)
	}
	return text, w.notes, lost
}

// leaves are the values of a section by their paths; a list is one value.
func leaves(section map[string]any) map[string]string {
	all := map[string]string{}
	for name, x := range section { // each for itself, in any order
		inner, _ := x.(map[string]any)
		if len(inner) == 0 {
			all[name] = shown(x)
		}
		for path, value := range leaves(inner) {
			all[name+"."+path] = value
		}
	}
	return all
}

// partsOf are the sections of a recipe that loads, read once.
func partsOf(base string) map[string]any {
	return once(&loaded, base, func() map[string]any {
		r, err := recipe.Load(base)
		if err != nil {
			panic("foreign: " + err.Error())
		}
		return parts(r)
	})
}

var loaded, usuals sync.Map

// once is what a function makes of a key, made once.
func once(made *sync.Map, key string, of func() map[string]any) map[string]any {
	known, _ := made.LoadOrStore(key, sync.OnceValue(of))
	return known.(func() map[string]any)()
}

// parts are the sections of a recipe.
func parts(r recipe.Recipe) (all map[string]any) {
	if err := json.Unmarshal(r.JSON(), &all); err != nil {
		panic("foreign: a recipe is written as JSON")
	}
	return all
}
