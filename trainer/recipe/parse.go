package recipe

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"reflect"
	"strings"
	"sync"

	"driftlab/model"
	"driftlab/results/record/atomicfile"
	"driftlab/trainer/method"

	"go.yaml.in/yaml/v4"
)

// Parse reads a recipe from YAML, strictly, and checks it. file labels the
// faults. Fields that are not given take their defaults. The error is Faults:
// everything wrong with the text, each fault with its line.
func Parse(file string, text []byte) (Recipe, error) {
	doc, err := readTree(file, text)
	if err != nil {
		return Recipe{}, err
	}
	return doc.recipe()
}

// Load reads a shipped recipe by its name, or a file by its path, and applies
// the assignments, each a "path.to.field=value" as in Set.
func Load(nameOrPath string, sets ...string) (Recipe, error) {
	changes, err := parseChanges("--set", sets)
	if err != nil {
		return Recipe{}, err
	}
	return LoadChanged(nameOrPath, changes...)
}

// Set changes fields, each by an assignment "path.to.field=value" whose value
// is YAML: "learner.optimizer.lr=1e-3", "loss={name: gspo}", "loss=gspo",
// "correction.masks[0].low=0.9". They are applied together and as strictly as
// a file is read; after an error the recipe is as before.
func (r *Recipe) Set(assignments ...string) error {
	doc, err := readTree("recipe "+r.Name, r.YAML())
	if err != nil {
		return err
	}
	for _, n := range indexOf(doc) {
		n.Line = 0 // of no use to someone who never saw this text
	}
	changes, err := parseChanges("--set", assignments)
	if err == nil {
		err = doc.apply(changes)
	}
	if err != nil {
		return err
	}
	changed, err := doc.recipe()
	if err != nil {
		return err
	}
	*r = changed
	return nil
}

func (doc *document) recipe() (Recipe, error) {
	d := &decoder{doc: doc}
	r := Default()
	d.value(doc.root, "", reflect.ValueOf(&r).Elem())
	d.publishedLoss(r)
	if err := d.faults.orNil(); err != nil {
		return Recipe{}, err
	}
	if r.Name == "" && find(doc.root, "name") == nil {
		base := path.Base(strings.ReplaceAll(doc.source, `\`, "/"))
		r.Name = strings.TrimSuffix(strings.TrimSuffix(base, ".yaml"), ".yml")
	}
	faults := r.faults()
	where := indexOf(doc)
	for i := range faults {
		faults[i].Source = doc.source
		if n := where.nearest(faults[i].Path); n != nil {
			faults[i].Source, faults[i].Line = doc.origin(n)
		}
	}
	if err := faults.orNil(); err != nil {
		return Recipe{}, err
	}
	return r, nil
}

// modelConfig distinguishes two things: no section at all, which leaves the zero
// Config, and one that says experts: 0 and nothing else.
func (d *decoder) modelConfig(n *yaml.Node, path string, c *model.Config) {
	*c = model.Config{Experts: model.Default().Experts}
	d.structure(n, path, reflect.ValueOf(c).Elem())
	if len(n.Content) == 0 {
		*c = model.Config{}
	} else if *c == (model.Config{}) {
		c.Experts = 1 // also the dense variant
	}
}

// allPaths lists the path of every field that no choice of method changes.
var allPaths = sync.OnceValue(func() []string {
	var paths []string
	var visit func(path string, v reflect.Value)
	visit = func(path string, v reflect.Value) {
		if path != "" {
			paths = append(paths, path)
		}
		if v.Kind() == reflect.Pointer {
			v = reflect.New(v.Type().Elem()).Elem()
		}
		if v.Kind() == reflect.Struct {
			for _, f := range fieldsOf(v) {
				visit(join(path, f.name), f.value)
			}
		}
	}
	visit("", reflect.ValueOf(Default()))
	return paths
})

func findText(nameOrPath string) (file string, text []byte, err error) {
	fail := func(format string, args ...any) (string, []byte, error) {
		return "", nil, Faults{{Source: nameOrPath, Problem: fmt.Sprintf(format, args...)}}
	}
	if text, ok := shippedText(nameOrPath); ok {
		return nameOrPath + ".yaml", text, nil
	}
	f, err := os.Open(nameOrPath)
	if err != nil {
		isPath := strings.ContainsAny(nameOrPath, `/\`) || strings.HasSuffix(nameOrPath, ".yaml") || strings.HasSuffix(nameOrPath, ".yml")
		if !isPath && errors.Is(err, fs.ErrNotExist) {
			return fail("no file and no shipped recipe of that name: %v; `simulate methods recipes` lists them", method.UnknownName(nameOrPath, Names()))
		}
		return fail("%v", atomicfile.Cause(err))
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return fail("is a folder, and a recipe is a file: name a file, or give the folder of a checkpoint as checkpoint=%s", nameOrPath)
	}
	// One byte more than a recipe may have: readTree then says that it is too long.
	text, err = io.ReadAll(io.LimitReader(f, maxText+1))
	if err != nil {
		return fail("%v", atomicfile.Cause(err))
	}
	return nameOrPath, text, nil
}

// Locate returns where a field of a recipe was written: the file and the line,
// or that of the change. A field that was not given is found at its nearest parent
// that was, or in the file as a whole with line 0. It serves messages about
// values that only turn out to be wrong later, such as a damaged checkpoint.
func Locate(nameOrPath, field string, changes ...Change) (source string, line int) {
	doc, file, err := changed(nameOrPath, changes)
	if err != nil {
		return file, 0
	}
	if n := indexOf(doc).nearest(field); n != nil {
		return doc.origin(n)
	}
	return file, 0
}
