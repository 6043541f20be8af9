package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"driftlab/precision/must"
)

// layer says which packages of this repository a package may import; a name that
// ends in /... stands for a package and all below it.
type layer struct{ packages, imports string }

// What several layers import.
const (
	numbers = "precision/elementary results/stats results/stats/passk"
	engines = "engine engine/column engine/learner engine/rollout model moe precision"
	methods = "trainer/method trainer/method/batch trainer/method/masked trainer/method/trace trainer/method/stream engine/column " + numbers
	session = "trainer trainer/recipe trainer/recipe/foreign trainer/engines trainer/episode trainer/method/... results/record " + engines + " " + numbers
	shown   = "results results/figure "
	drawn   = shown + "results/record results/lab/picture " + numbers
)

// layers is the architecture, lowest first. Each package of the repository occurs once.
var layers = []layer{
	// Numbers and what holds them.
	{"precision/must precision/elementary precision moe engine/column model/safetensors results/record/atomicfile", ""},
	{"results/stats results/stats/passk", "precision/elementary"},
	{"results/record", "results/record/atomicfile " + numbers},
	{"results/figure", "results/record " + numbers},
	{"model", "model/safetensors results/record/atomicfile"},
	{"model/gguf", "model precision"},

	// The two engines, which do not know each other.
	{"engine/kernel engine/kernel/gen", "precision"},
	{"engine", "engine/kernel model moe precision"},
	{"engine/rollout engine/learner", "engine engine/column engine/kernel model moe precision precision/elementary"},
	{"engine/reference", "model moe"},
	{"engine/enginetest", "engine engine/column engine/reference model moe precision precision/elementary"},

	// What a training step is made of. A group of methods knows no other group.
	{"trainer/method/stream trainer/method/masked trainer/method/trace", "precision/elementary"},
	{"trainer/method/batch", "engine/column"},
	{"trainer/method trainer/method/memorytest", "precision trainer/method trainer/method/batch"},
	{"trainer/method/advantage trainer/method/correction trainer/method/guard trainer/method/loss trainer/method/metrics trainer/method/schedule trainer/method/task", methods},
	{"trainer/method/loss/scaffold", ""},
	{"trainer/method/reward", methods + " trainer/method/task"},
	{"trainer/method/schedule/simulation", methods + " trainer/method/schedule"},

	// The training loop.
	{"trainer/recipe", "engine model precision results/record/atomicfile trainer/method/... " + numbers},
	{"trainer/recipe/foreign/source", "trainer/recipe"},
	{"trainer/recipe/foreign", "precision trainer/method trainer/method/correction trainer/method/loss trainer/recipe trainer/recipe/foreign/source"},
	{"trainer/engines trainer/episode", "trainer/recipe trainer/method/... " + engines + " " + numbers},
	{"trainer/cluster", "trainer/engines trainer/recipe trainer/method/... " + engines + " " + numbers},
	{"trainer", "trainer/cluster trainer/engines trainer/episode trainer/recipe trainer/method/... " + engines + " " + numbers},
	{"trainer/trainertest", "model results/record trainer/recipe"},

	// What uses the loop.
	{"experiments/run/dump experiments/measure/explain", session},
	{"experiments/run", "experiments/run/dump model/safetensors " + session},
	{"experiments/measure", session + " engine/kernel"},
	{"experiments/diagnose/reader", "model/safetensors precision " + numbers},
	{"experiments/diagnose", "results/stability experiments/diagnose/reader " + session},
	{"experiments/diagnose/diagnosetest", "experiments/diagnose experiments/diagnose/reader"},
	{"experiments/diagnose/tables", "experiments/diagnose results/figure"},
	{"experiments/diagnose/page", "experiments/diagnose experiments/diagnose/tables " + shown + session},
	{"experiments/diagnose/reproduce", "experiments/measure " + session},
	{"experiments/study/judge", numbers},
	{"experiments/study", "experiments/run experiments/study/judge results/stability " + shown + session},
	{"experiments/study/claims/claim", "experiments/measure experiments/study/judge experiments/run " + shown + session},
	{"experiments/studies", ""},
	{"experiments/measurements", "experiments/study/claims/claim experiments/study/judge experiments/measure engine/kernel " + shown + session},
	{"experiments/study/claims", "experiments/study/claims/claim experiments/measurements experiments/studies results/stats"},
	{"experiments/study/sources", "experiments/study/claims experiments/study/claims/claim experiments/study/judge results/published results/stability trainer/recipe " + drawn},
	{"experiments/study/claims/reproduce", "experiments/study/claims experiments/study/claims/claim experiments/study experiments/study/judge experiments/study/sources results/published results/stability " + shown + session},
	{"experiments/measure/tables", "experiments/measure experiments/run " + shown + session},
	{"experiments/lesson/live", "experiments/measure results/figure results/lab/picture " + session},
	{"experiments/lesson", "experiments/study experiments/study/claims/claim experiments/measurements experiments/measure/explain experiments/lesson/live experiments/measure experiments/run results/lab results/figure results/lab/picture " + session},
	{"experiments/bench", "engine/kernel " + shown + session},

	// What is drawn.
	{"results results/lab/picture results/columnar results/tensorboard", drawn},
	{"results/lab", "results/published " + drawn},
	{"results/lab/sheet", "results/lab"},
	{"results/published", ""},
	{"results/stability", "results/figure results/published " + numbers + " results/record"},

	// The command, which nothing imports.
	{"cmd/simulate cmd/simulate/lab cmd/simulate/lab/diagnose cmd/simulate/limits cmd/simulate/program", "cmd/simulate/... engine/... experiments/... model model/gguf precision/... results/... trainer/..."},
}

// onlyTests are packages that tests import, and each other, and no program does.
const onlyTests = "precision/must experiments/diagnose/diagnosetest engine/enginetest engine/reference trainer/trainertest trainer/method/memorytest"

// capability says which packages may use something from outside the repository: an import
// ("os"), what is used of one ("time.Now"), all below a path ("net/...") or a beginning ("log.*").
type capability struct{ what, uses, packages string }

var capabilities = []capability{
	{"files", "os os/* io/ioutil", "cmd/... engine/kernel/gen experiments/diagnose/diagnosetest experiments/study/claims/reproduce experiments/run experiments/study model results/record results/record/atomicfile trainer/recipe trainer/method/loss/scaffold"},
	{"system calls", "syscall golang.org/x/sys/unix golang.org/x/sys/windows", "cmd/... experiments/bench model results/record"},
	{"processes and the network", "os/exec os/signal net/...", "cmd/..."},
	{"the clock", "time.Now time.Since time.Until time.Sleep time.After time.AfterFunc time.Tick time.NewTimer time.NewTicker", "cmd/..."},
	{"terminals and the end of the process", "os.Exit os.Args os.Stdin os.Stdout os.Stderr flag log log.* fmt.Print fmt.Printf fmt.Println " +
		"github.com/schollz/progressbar/... github.com/charmbracelet/... charm.land/... golang.org/x/term", "cmd/... engine/kernel/gen"},
	{"drawing", "gonum.org/v1/plot/... golang.org/x/image/... image/... html/...", "cmd/... results results/lab results/lab/sheet"},
	{"the graph and its gradients", "gorgonia.org/... github.com/chewxy/...", "engine/learner"},
	{"random numbers without a seed", "math/rand crypto/rand hash/maphash math/rand/v2.ExpFloat64 math/rand/v2.Float32 math/rand/v2.Float64 math/rand/v2.Int math/rand/v2.Int32 math/rand/v2.Int32N " +
		"math/rand/v2.Int64 math/rand/v2.Int64N math/rand/v2.IntN math/rand/v2.N math/rand/v2.NormFloat64 math/rand/v2.Perm math/rand/v2.Shuffle math/rand/v2.Uint32 math/rand/v2.Uint32N " +
		"math/rand/v2.Uint64 math/rand/v2.Uint64N math/rand/v2.UintN math/rand/v2.NewChaCha8 math/rand/v2.NewZipf", ""},
	// These are assembly on some processors, or products and sums that the compiler fuses on others:
	// precision/elementary has those whose bits are equal everywhere.
	{"mathematics with other bits elsewhere", "math.Acos math.Acosh math.Asin math.Asinh math.Atan math.Atan2 math.Atanh math.Cbrt math.Cos math.Cosh math.Erf math.Erfc " +
		"math.Erfcinv math.Erfinv math.Exp math.Exp2 math.Expm1 math.Gamma math.Hypot math.J0 math.J1 math.Jn math.Lgamma math.Log " +
		"math.Log10 math.Log1p math.Log2 math.Pow math.Sin math.Sincos math.Sinh math.Tan math.Tanh math.Y0 math.Y1 math.Yn", "precision/elementary engine/enginetest engine/reference"},
	{"the tests of paired arms", "driftlab/results/stats.SignFlip driftlab/results/stats.WestfallYoung driftlab/results/stats.Holm driftlab/results/stats.TOST", "experiments/study/judge"},
	{"C", "C", ""},
}

// transitiveDeps are what a package may not be built from, through others either.
var transitiveDeps = []struct{ roots, not string }{
	{"./trainer", `^gonum\.org/v1/plot|progressbar|^golang\.org/x/(term|image)|^html|^image/(png|jpeg|gif|draw)|^net(/http)?$|^os/exec$`},
	{"./experiments/...", `progressbar`},
	// What reads configurations of other trainers is built from a shell's interpreter, which asks for terminals.
	{"./experiments/study ./experiments/measurements ./experiments/study/claims/claim ./experiments/run/... ./experiments/measure/... ./experiments/bench ./experiments/lesson/...", `^golang\.org/x/term`},
	{"./experiments/study/claims/...", `^net(/http)?$`},
}

// source is a file that is no test, by its imports and by what it uses of them.
type source struct {
	path string
	uses []string
}

// pkg is the package of the file.
func (s source) pkg() string { return path.Dir(s.path) }

// among reports whether a name is one of a list of names and patterns.
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

// violations lists what the files use and may not.
func violations(files []source) []string {
	var list []string
	report := func(f source, format string, args ...any) {
		list = append(list, f.path+": "+fmt.Sprintf(format, args...))
	}
	for _, f := range files {
		i := slices.IndexFunc(layers, func(l layer) bool { return among(f.pkg(), l.packages) })
		if i < 0 {
			report(f, "package %s has no layer", f.pkg())
			continue
		}
		for _, use := range f.uses {
			imported, own := strings.CutPrefix(use, "driftlab/")
			if own && (!among(imported, layers[i].imports) || among(imported, onlyTests) && !among(f.pkg(), onlyTests)) {
				report(f, "imports %s", imported)
			}
			for _, c := range capabilities {
				if among(use, c.uses) && !among(f.pkg(), c.packages) {
					report(f, "uses %s: %s", c.what, use)
				}
			}
		}
	}
	return list
}

// readSources parses every file of the repository that is no test.
func readSources(t *testing.T, root string) []source {
	var files []source
	must.Do(t, filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		base := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != root && (strings.HasPrefix(base, ".") || base == "testdata"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(base, ".go") || strings.HasSuffix(base, "_test.go"):
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(root, name)
		files = append(files, source{filepath.ToSlash(inside), usesOf(parsed)})
		return err
	}))
	return files
}

var majorVersion = regexp.MustCompile(`/v[0-9]+$`)

// usesOf are the imports of a file and what it uses of those that are not of this repository.
func usesOf(file *ast.File) []string {
	var list []string
	paths := map[string]string{}
	for _, spec := range file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value) // it has been parsed
		list = append(list, imported)
		name := path.Base(majorVersion.ReplaceAllString(imported, ""))
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if !strings.HasPrefix(imported, "driftlab/") {
			paths[name] = imported
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
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

func TestArchitecture(t *testing.T) {
	files := readSources(t, filepath.Join("..", ".."))
	for _, v := range violations(files) {
		t.Error(v)
	}
	// A layer, an import or a capability without a package would hold for ever.
	exists := func(pattern string) bool {
		return slices.ContainsFunc(files, func(f source) bool { return among(f.pkg(), pattern) })
	}
	listed := map[string]bool{}
	for _, l := range layers {
		for _, name := range strings.Fields(l.packages + " " + l.imports) {
			if !exists(name) {
				t.Errorf("there is no package %s", name)
			}
		}
		for _, name := range strings.Fields(l.packages) {
			if listed[name] {
				t.Errorf("%s has two layers", name)
			}
			listed[name] = true
		}
	}
	for _, c := range capabilities {
		for _, name := range strings.Fields(c.packages) {
			if !exists(name) {
				t.Errorf("%s: there is no package %s", c.what, name)
			}
		}
	}
}

const architecturePage = "cmd/simulate/ARCHITECTURE.md"

var pageLink = regexp.MustCompile(`\]\(([^)#:]+)\)`)

// TestArchitecturePage: every package has a line in ARCHITECTURE.md and no other has one; the
// files that it and trainer/README.md link to exist.
func TestArchitecturePage(t *testing.T) {
	root := filepath.Join("..", "..")
	for _, name := range []string{architecturePage, "trainer/README.md"} {
		text := must.Get(os.ReadFile(filepath.Join(root, name)))(t)
		for _, link := range pageLink.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(root, path.Dir(name), link[1])); err != nil {
				t.Errorf("%s links to %s: %v", name, link[1], err)
			}
		}
		if name != architecturePage {
			continue
		}
		named := map[string]bool{}
		for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| .").FindAllStringSubmatch(string(text), -1) {
			named[row[1]] = false
		}
		for _, f := range readSources(t, root) {
			if _, ok := named[f.pkg()]; !ok {
				t.Errorf("ARCHITECTURE.md has no line for %s", f.pkg())
			}
			named[f.pkg()] = true
		}
		for pkg, exists := range named {
			if !exists {
				t.Errorf("ARCHITECTURE.md has a line for %s, which is no package", pkg)
			}
		}
	}
}

// TestTransitiveDeps asks the go command for all that a package is built from.
func TestTransitiveDeps(t *testing.T) {
	for _, p := range transitiveDeps {
		list := must.Get(exec.Command("go", append([]string{"list", "-C", filepath.Join("..", ".."), "-deps"}, strings.Fields(p.roots)...)...).Output())(t)
		not := regexp.MustCompile(p.not)
		for name := range strings.Lines(string(list)) {
			if not.MatchString(strings.TrimSpace(name)) {
				t.Errorf("%s: built from %s", p.roots, name)
			}
		}
	}
}

// TestViolationsAreFound makes up files that break each kind of rule.
func TestViolationsAreFound(t *testing.T) {
	const text = "package x\nimport (\n\t\"math/rand/v2\"\n\tclock \"time\"\n)\nvar _, _, _ = rand.IntN(3), rand.New(nil), clock.Now()\n"
	parsed := must.Get(parser.ParseFile(token.NewFileSet(), "x.go", text, parser.SkipObjectResolution))(t)
	for _, c := range []struct {
		file source
		want []string
	}{
		{source{"moe/x.go", usesOf(parsed)}, []string{
			"moe/x.go: uses random numbers without a seed: math/rand/v2.IntN", "moe/x.go: uses the clock: time.Now"}},
		{source{"trainer/method/loss/x.go", []string{"driftlab/trainer", "driftlab/trainer/method/batch", "driftlab/trainer/method/correction"}}, []string{
			"trainer/method/loss/x.go: imports trainer", "trainer/method/loss/x.go: imports trainer/method/correction"}},
		{source{"engine/rollout/x.go", []string{"driftlab/engine/learner", "os"}}, []string{
			"engine/rollout/x.go: imports engine/learner", "engine/rollout/x.go: uses files: os"}},
		{source{"experiments/diagnose/x.go", []string{"driftlab/experiments/diagnose/page"}}, []string{
			"experiments/diagnose/x.go: imports experiments/diagnose/page"}},
		{source{"trainer/fresh/x.go", nil}, []string{"trainer/fresh/x.go: package trainer/fresh has no layer"}},
		{source{"trainer/step.go", []string{"driftlab/trainer/method/loss", "math.Sqrt"}}, nil},
	} {
		got := violations([]source{c.file})
		if !slices.Equal(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
