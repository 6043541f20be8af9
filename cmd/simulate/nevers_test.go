package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// never is something that a part of the house does not do. Parts are packages
// or files from the top of the repository, things are imports ("os") or what is
// used of one ("time.Now"); a package of this house is named as a part is. A
// name ends in /... for all below it too, and in * for all that begins so.
type never struct {
	says        string // the rule, as a sentence
	who, unless string // the parts it binds, and those it does not
	does, but   string // the things they never do, and those they may
}

// The words that occur in more than one rule.
const (
	rooms  = "trainer/advantage/... trainer/correction/... trainer/diagnose/... trainer/guard/... trainer/loss/... trainer/reward/... trainer/schedule/... trainer/task/..."
	leaves = "engine/column moe model/safetensors precision precision/elementary results/record trainer/masked trainer/passk trainer/stream"
	house  = "cmd/... engine/... experiments/... model/... moe/... precision/... results/... trainer/..."
	// Of package math: what is assembly on some processors, or has products and
	// sums that the compiler fuses on others.
	notTheSame = "math.Acos math.Acosh math.Asin math.Asinh math.Atan math.Atan2 math.Atanh math.Cbrt math.Cos math.Cosh math.Erf math.Erfc " +
		"math.Erfcinv math.Erfinv math.Exp math.Exp2 math.Expm1 math.Gamma math.Hypot math.J0 math.J1 math.Jn math.Lgamma math.Log " +
		"math.Log10 math.Log1p math.Log2 math.Pow math.Sin math.Sincos math.Sinh math.Tan math.Tanh math.Y0 math.Y1 math.Yn"
	clock = "time.Now time.Since time.Until time.Sleep time.After time.AfterFunc time.Tick time.NewTimer time.NewTicker"
)

var nevers = []never{
	// Arrows point down.
	{says: "the engines and what they stand on know nothing of training, its records or its claims",
		who: "engine/... model/... moe/... precision/...", does: "cmd/... experiments/... results/... trainer/..."},
	{says: "a leaf imports nothing of this house but elementary functions", who: leaves, does: house, but: "precision/elementary"},
	{says: "a checkpoint knows no engine", who: "model/...", does: "engine/... moe/... precision/..."},
	{says: "the engines do not know each other", who: "engine/rollout", does: "engine/learner"},
	{says: "the engines do not know each other", who: "engine/learner", does: "engine/rollout"},
	{says: "training knows no claim and no picture", who: "trainer/...", does: "cmd/... experiments/... results"},
	{says: "a room of methods knows batches and how methods are named, and no other room", who: rooms, unless: "trainer/reward",
		does: "trainer/... engine/... model/...", but: "trainer/batch trainer/masked trainer/method trainer/trace engine/column"},
	{says: "rewards ask the task what an answer is worth, and no other room", who: "trainer/reward/...",
		does: "trainer/... engine/... model/...", but: "trainer/batch trainer/masked trainer/method trainer/passk trainer/task"},
	{says: "a recipe describes engines and runs none", who: "trainer/recipe", does: "engine/rollout engine/learner engine/kernel"},
	{says: "what is drawn knows records and statistics, and no other mathematics of the house", who: "results/...", does: house,
		but: "results results/record results/lab/panel experiments/stats precision/elementary trainer/passk"},
	{says: "claims measure through the trainer", who: "experiments/...", does: "engine/kernel engine/learner engine/rollout"},
	{says: "what claims are made of knows no claim", who: "experiments/claim experiments/queue experiments/stats experiments/sweep",
		does: "experiments experiments/claims/... experiments/reproduce"},
	{says: "claims know what they are made of, not how they are run", who: "experiments/claims/...",
		does: "experiments experiments/queue experiments/reproduce"},
	{says: "nothing imports the command", who: house, does: "cmd/..."},

	// Who may touch the world.
	{says: "training opens no file", who: "trainer/...", does: "os os/* io/ioutil net/... syscall results/...",
		unless: "trainer/runner/... trainer/dump trainer/tiny " + // the files around a session
			"trainer/explain trainer/measure/flips.go " + // what the lab records, as values
			"trainer/recipe/parse.go " + // a recipe of one's own
			"trainer/golden trainer/loss/scaffold"}, // other people's figures for the tests, and a new loss's skeleton
	{says: "only checkpoints are files to the engines", who: "engine/... model/... moe/... precision/...", does: "os os/* io/ioutil net/... syscall",
		unless: "model engine/kernel/gen"},
	{says: "claims open no file, keeping their verdicts and the runs of a sweep does", who: "experiments/...", does: "os os/* io/ioutil net/... syscall",
		unless: "experiments/reproduce experiments/sweep"},
	{says: "records and tables start no process and reach no network", who: "results/...", does: "os/exec os/signal net/..."},
	{says: "only the command reads the clock", who: house, unless: "cmd/...", does: clock},
	{says: "only the command ends a process or talks to a terminal", who: house, unless: "cmd/... engine/kernel/gen",
		does: "os.Exit os.Args os.Stdin os.Stdout os.Stderr os/signal flag log log.* fmt.Print fmt.Printf fmt.Println " +
			"github.com/schollz/progressbar/... github.com/charmbracelet/... charm.land/... golang.org/x/term"},
	{says: "only the command and results draw", who: house, unless: "cmd/... results results/lab results/lab/sheet",
		does: "gonum.org/v1/plot/... golang.org/x/image/... image/... html/..."},

	// What is random has a seed, and what differentiates has one room.
	{says: "no random number without a seed", who: house,
		does: "math/rand crypto/rand hash/maphash math/rand/v2.*",
		but:  "math/rand/v2.New math/rand/v2.NewPCG math/rand/v2.PCG math/rand/v2.Rand math/rand/v2.Source"},
	{says: "figures have the same bits on every processor, which package math's have not", who: house,
		unless: "precision/elementary engine/enginetest", // the latter is what the engines' tests compare with
		does:   notTheSame},
	{says: "Gorgonia is the learner's", who: house, unless: "engine/learner", does: "gorgonia.org/... github.com/chewxy/..."},
	{says: "no C", who: house, does: "C"},
}

// pulls are what a package may not get through others either, theirs included.
var pulls = []struct{ root, never string }{
	{"./trainer", `^gonum\.org/v1/plot|progressbar|lipgloss|^golang\.org/x/(term|image)|^html|^image/(png|jpeg|gif|draw)|^net(/http)?$|^os/exec$`},
	{"./experiments/...", `progressbar|lipgloss|^golang\.org/x/term|^net(/http)?$`},
}

// file is a source file of the house by what it does.
type file struct {
	path string
	does []string
}

// among reports whether a name is one of a list; empty for an empty list.
func among(name, list string) bool {
	for _, pattern := range strings.Fields(list) {
		below, tree := strings.CutSuffix(pattern, "/...")
		begin, star := strings.CutSuffix(pattern, "*")
		if name == pattern || tree && (name == below || strings.HasPrefix(name, below+"/")) || star && strings.HasPrefix(name, begin) {
			return true
		}
	}
	return false
}

// by reports whether the file, or its package, is one of a list.
func (f file) by(list string) bool { return among(path.Dir(f.path), list) || among(f.path, list) }

// room is the part of a path that may know itself: trainer/loss of all below it.
func room(name string) string {
	parts := strings.SplitN(name, "/", 3)
	return strings.Join(parts[:min(len(parts), 2)], "/")
}

// breach is one thing that a file should not do.
type breach struct {
	file
	does, rule string
}

func (b breach) String() string { return b.path + ": " + b.does + ": " + b.rule }

// broken lists where files do what they never do.
func broken(rules []never, files []file) []breach {
	var list []breach
	for _, f := range files {
		for _, n := range rules {
			if !f.by(n.who) || f.by(n.unless) {
				continue
			}
			for _, thing := range f.does {
				if among(thing, n.does) && !among(thing, n.but) && room(thing) != room(path.Dir(f.path)) {
					list = append(list, breach{f, thing, n.says})
				}
			}
		}
	}
	return list
}

// readHouse parses every file of the repository that is no test.
func readHouse(t *testing.T, root string) []file {
	var files []file
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		base := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != root && (strings.HasPrefix(base, ".") || base == "testdata"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(base, ".go") || strings.HasSuffix(base, "_test.go"):
			return nil
		}
		source, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(root, name)
		files = append(files, file{filepath.ToSlash(inside), doings(source)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

var major = regexp.MustCompile(`/v[0-9]+$`)

// doings are the imports of a file and what it uses of them.
func doings(source *ast.File) []string {
	var list []string
	paths := map[string]string{}
	for _, spec := range source.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value) // it has been parsed
		list = append(list, strings.TrimPrefix(imported, "driftlab/"))
		name := path.Base(major.ReplaceAllString(imported, ""))
		if spec.Name != nil {
			name = spec.Name.Name
		}
		paths[name] = imported
	}
	ast.Inspect(source, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if from, ok := s.X.(*ast.Ident); ok && paths[from.Name] != "" {
				list = append(list, paths[from.Name]+"."+s.Sel.Name)
			}
		}
		return true
	})
	slices.Sort(list)
	return slices.Compact(list)
}

func TestNevers(t *testing.T) {
	files := readHouse(t, filepath.Join("..", ".."))
	for _, b := range broken(nevers, files) {
		t.Error(b)
	}
	// A rule about nobody would hold for ever.
	for _, n := range nevers {
		for _, who := range strings.Fields(n.who) {
			if !slices.ContainsFunc(files, func(f file) bool { return f.by(who) }) {
				t.Errorf("%s: there is no %s", n.says, who)
			}
		}
	}
}

// TestPulls asks the go command for all that a package is built from.
func TestPulls(t *testing.T) {
	for _, p := range pulls {
		list, err := exec.Command("go", "list", "-C", filepath.Join("..", ".."), "-deps", p.root).Output()
		if err != nil {
			t.Fatal(err)
		}
		never := regexp.MustCompile(p.never)
		for name := range strings.Lines(string(list)) {
			if never.MatchString(strings.TrimSpace(name)) {
				t.Errorf("%s is built from %s", p.root, name)
			}
		}
	}
}

// TestNeversAreFound breaks every rule in a house made up for it, and keeps it
// where it does not hold.
func TestNeversAreFound(t *testing.T) {
	first := func(list string) string {
		one, _, _ := strings.Cut(list, " ")
		return strings.NewReplacer("/...", "", "*", "x").Replace(one)
	}
	in := func(part string) string {
		if strings.HasSuffix(part, ".go") {
			return part
		}
		return part + "/made_up.go"
	}
	for _, n := range nevers {
		does := []string{first(n.does)}
		var f file
		for _, who := range strings.Fields(n.who) {
			for _, part := range []string{first(who), first(who) + "/made/up"} {
				if g := (file{in(part), does}); g.by(n.who) && !g.by(n.unless) && room(part) != room(does[0]) {
					f = g
				}
			}
		}
		rule := []never{n}
		if len(broken(rule, []file{f})) != 1 {
			t.Errorf("%s does %s and is not found: %s", f.path, does, n.says)
		}
		if list := broken(rule, []file{{in(first(n.unless)), does}, {f.path, []string{first(n.but)}}}); len(list) > 0 {
			t.Errorf("excepted and found: %s", list)
		}
	}
	const text = "package x\nimport (\n\t\"math/rand/v2\"\n\tclock \"time\"\n)\nvar _, _, _ = rand.IntN(3), rand.New(nil), clock.Now()\n"
	source, err := parser.ParseFile(token.NewFileSet(), "x.go", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(broken(nevers, []file{{"moe/x.go", doings(source)}}))
	if want := "[moe/x.go: time.Now: only the command reads the clock moe/x.go: math/rand/v2.IntN: no random number without a seed]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
