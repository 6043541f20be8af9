package foreign

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"driftlab/trainer/method"
	"driftlab/trainer/recipe"
	"driftlab/trainer/recipe/foreign/source"
)

// candidate is how well a framework's keys fit a document.
type candidate struct {
	framework *framework
	document  source.Document
	score     int
}

// recognise finds whose keys they are, and in which of the documents: the most win.
func recognise(name, file string, documents []source.Document) (*framework, source.Document, error) {
	var list []candidate
	for _, f := range frameworks() {
		if name != "" && f.name != name {
			continue
		}
		best := candidate{framework: f}
		for _, d := range documents {
			for _, block := range append([]string{""}, f.blocks...) {
				inside := d
				inside.Settings = below(block, d.Settings)
				if score := f.score(inside.Settings, block == "", name != ""); score > 0 && score+f.started(d.Name) > best.score {
					best.document, best.score = inside, score+f.started(d.Name)
				}
			}
		}
		if best.score > 0 {
			list = append(list, best)
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	fail := func(problem string) (*framework, source.Document, error) {
		return nil, source.Document{}, recipe.Faults{{Source: file, Problem: problem}}
	}
	switch {
	case name != "" && !slices.Contains(Frameworks(), name):
		return fail(fmt.Sprintf("--dialect: %v", method.UnknownName(name, Frameworks())))
	case len(list) == 0 && name != "":
		return fail("read as " + name + " (--dialect), the file has no setting that is known")
	case len(list) == 0:
		return fail("no setting of a correction is known here: expected those of " + strings.Join(Frameworks(), ", ") +
			", such as verl's algorithm.rollout_correction.rollout_is or slime's --use-tis")
	case len(list) > 1 && list[1].score*10 >= list[0].score*9 && list[0].score-list[1].score <= 8:
		return fail(fmt.Sprintf("could be of %s or of %s: say which with --dialect %s or --dialect %s, or give more of the file",
			list[0].framework.name, list[1].framework.name, list[0].framework.name, list[1].framework.name))
	}
	return list[0].framework, list[0].document, nil
}

func below(section string, settings []source.Setting) []source.Setting {
	if section == "" {
		return settings
	}
	list := slices.Clone(settings)
	for i := range list {
		list[i].Path = section + list[i].Path
	}
	return list
}

// started is what the name of a program adds to a score.
func (f *framework) started(name string) int {
	for program := range strings.FieldsSeq(f.program) {
		if strings.Contains(name, program) {
			return 24
		}
	}
	return 0
}

// score counts the keys that are the framework's: those of its correction weigh most.
func (f *framework) score(settings []source.Setting, whole, chosen bool) int {
	n, block, rooted, own := 0, f.isBlock(settings), f.root+f.mark == "" || chosen, false
	for _, s := range settings {
		key, whose := f.place(s, block)
		if !rooted && (f.root != "" && strings.HasPrefix(s.Path, f.root+".") || f.mark != "" && strings.Contains(s.Text, f.mark)) {
			rooted, n = true, n+1000
		}
		e := f.table.line(s.Path)
		switch {
		case whose == unknown && (e == nil || e.reason != "base"):
			n, own = n+1, true
		case e != nil && (e.reason == "base" || whose != known): // what begins alike says little
			if whole && strings.Contains(e.key, ".") {
				n++
			}
		case whose == known && f.table.find(key) == nil:
			n, own = n+8, true
		case whose == known && strings.Contains(key, "."):
			n, own = n+4, true
		case whose == known:
			n, own = n+2, true
		}
	}
	if !rooted || !own {
		return 0
	}
	return n
}
