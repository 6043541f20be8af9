package scaffold

import (
	"encoding/json"
	"flag"
	"go/build"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"driftlab/precision/must"
	"driftlab/trainer/method/loss"
)

var exhaustive = flag.Bool("exhaustive", false, "all tests of the losses and a training step with the new one, as in nightly tests")

// judges are the tests of the losses that judge every entry of the registry.
const judges = "TestSpecsComplete|TestWorkedExamples|TestExplainEveryLoss|TestNeedsAreComplete|TestDependsOnIsDeclared|TestMemory"

// overlay writes the files beside the clone and returns what makes the go
// command see them in it.
func overlay(t *testing.T, root string, files []File) string {
	t.Helper()
	dir, replace := t.TempDir(), map[string]string{}
	for _, f := range files {
		path := filepath.Join(dir, filepath.Base(f.Path))
		must.Do(t, os.WriteFile(path, []byte(f.Text), 0o666))
		replace[filepath.Join(root, filepath.FromSlash(f.Path))] = path
	}
	text := must.Get(json.Marshal(map[string]any{"Replace": replace}))(t)
	path := filepath.Join(dir, "overlay.json")
	must.Do(t, os.WriteFile(path, text, 0o666))
	return path
}

// goCommand runs the go command in the clone.
func goCommand(t *testing.T, root string, args ...string) string {
	t.Helper()
	c := exec.Command("go", args...)
	c.Dir = root
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestReadme follows the section of the page on methods to the letter: its first block of Go is
// the whole file, its second the line of the registry. They must be what is
// written for that name, compile, and pass the tests that judge every loss of the registry;
// exhaustively all tests of the losses, and a run with it trains.
func TestReadme(t *testing.T) {
	root := must.Get(Root("."))(t)
	readme := must.Get(os.ReadFile(filepath.Join(root, "trainer/method/README.md")))(t)
	_, section, found := strings.Cut(string(readme), "\n## Add a loss in one file\n")
	if !found {
		t.Fatal("the page has no section on adding a loss")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var blocks []string
	for _, part := range strings.Split(section, "```go\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		blocks = append(blocks, block)
	}
	if len(blocks) != 2 || !strings.Contains(section, "simulate new loss tanh_pg") {
		t.Fatalf("%d blocks of Go in the section, want the file and the line", len(blocks))
	}
	files := must.Get(Loss(root, "tanh_pg"))(t)
	if lines := strings.Count(blocks[0], "\n"); lines > 40 {
		t.Errorf("the file has %d lines, more than 40", lines)
	}
	if blocks[0] != files[0].Text {
		t.Error("the page's file is not what `simulate new loss tanh_pg` writes")
	}
	if blocks[1] != line("tanh_pg") || !strings.Contains(files[1].Text, blocks[1]) {
		t.Errorf("the page's line of the registry is not %q", line("tanh_pg"))
	}
	o := overlay(t, root, []File{{folder + "/tanh_pg.go", blocks[0]}, files[1]})
	if !*exhaustive {
		goCommand(t, root, "test", "-overlay", o, "-run", judges, "./trainer/method/loss")
		return
	}
	goCommand(t, root, "test", "-overlay", o, "./trainer/method/loss")
	out := goCommand(t, root, "run", "-overlay", o, "./cmd/simulate", "train", "-q", "--set", "loss={name: tanh_pg, scale: 2}",
		"--set", "steps=1", "--set", "rollout.prompts=2", "--set", "rollout.group=2", "--set", "eval.prompts=2", "--out", t.TempDir())
	if !strings.Contains(out, "finished after 1 step") {
		t.Errorf("trained:\n%s", out)
	}
}

// TestOtherNames: under other names the file is as good, first and last in the
// registry too.
func TestOtherNames(t *testing.T) {
	root := must.Get(Root("."))(t)
	for _, name := range []string{"a", "zz_top", "my_kl_loss"} {
		files := must.Get(Loss(root, name))(t)
		registry := files[1].Text
		after := strings.Index(registry, line(name))
		if after < 0 || strings.Count(registry, line(name)) != 1 {
			t.Fatalf("%s: the registry has no such line", name)
		}
		names := append(loss.Registry.Names(), name)
		slices.Sort(names)
		table, _, _ := strings.Cut(registry, "\n}\n")
		if got, want := strings.Count(table[:after], "\n\t{Spec:")+1, slices.Index(names, name); got-1 != want {
			t.Errorf("%s: line %d of the registry, want %d", name, got-1, want)
		}
		if name == "zz_top" && *exhaustive {
			goCommand(t, root, "test", "-overlay", overlay(t, root, files), "-run", "TestSpecsComplete|TestWorkedExamples", "./trainer/method/loss")
		}
	}
}

// TestRefused: a name that would not compile, or take another's place.
func TestRefused(t *testing.T) {
	root := must.Get(Root("."))(t)
	for name, want := range map[string]string{
		"":              "small letters",
		"TanhPG":        "small letters",
		"../x":          "small letters",
		"a__b":          "small letters",
		"grpo_test":     "a meaning of its own",
		"grpo_linux":    "a meaning of its own",
		"grpo_arm64":    "a meaning of its own",
		"gspo":          "declares GSPO already",
		"ppo_clip":      "already: choose another name",
		"frame":         "is there already",
		"grad":          "loss.go declares Grad already",
		"entropy":       "declares Entropy already",
		"cross_entropy": "already: choose another name",
	} {
		if _, err := Loss(root, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
	if _, err := Root(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not in a clone of the source") {
		t.Errorf("outside: %v", err)
	}
}

// TestSpecial asks Go itself, for each of its platforms and for names of losses.
func TestSpecial(t *testing.T) {
	nowhere := build.Context{Compiler: "gc", OpenFile: func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("package loss\n")), nil
	}}
	listed := must.Get(exec.Command("go", "tool", "dist", "list").Output())(t)
	for _, word := range append(strings.FieldsFunc(string(listed)+" "+platforms, func(r rune) bool { return !isLower(byte(r)) && (r < '0' || r > '9') }), "cov", "pg", "ppo", "go") {
		if match := must.Get(nowhere.MatchFile("", "a_"+word+".go"))(t); match == special(word) {
			t.Errorf("%s: Go builds a file everywhere: %v", word, match)
		}
	}
}

// TestGoName writes initials as Go does.
func TestGoName(t *testing.T) {
	for name, want := range map[string][2]string{
		"tanh_pg": {"TanhPG", "tanhPG"}, "gspo_token": {"GSPOToken", "gspoToken"}, "a3po": {"A3PO", "a3po"},
		"kl_cov": {"KLCov", "klCov"}, "dro": {"Dro", "dro"}, "x": {"X", "x"}, "my_2nd": {"My2nd", "my2nd"},
	} {
		if got := [2]string{goName(name), unexported(goName(name))}; got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
