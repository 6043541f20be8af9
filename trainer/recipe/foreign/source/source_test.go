package source

import (
	_ "embed"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
)

// read is the settings of the only document of a text, as lines.
func read(t *testing.T, name, text string) string {
	t.Helper()
	documents, err := Parse(name, []byte(text))
	if err != nil {
		return err.Error()
	}
	var lines []string
	for _, d := range documents {
		for _, s := range d.Settings {
			line := s.Path + "=" + s.Shown()
			if s.Why != "" {
				line += " (" + s.Why + ")"
			}
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

//go:embed testdata/settings.txt
var settingsText string

// TestSettings reads every format, and follows scripts as the shell does. The file says how it is read.
func TestSettings(t *testing.T) {
	_, cases, _ := strings.Cut(settingsText, "\n--- ")
	for c := range strings.SplitSeq(cases, "\n--- ") {
		title, lines, _ := strings.Cut(c, "\n")
		name, _, _ := strings.Cut(title, " ")
		text, want, _ := strings.Cut(strings.TrimSuffix(lines, "\n"), "\n=> ")
		want = strings.ReplaceAll(want, "\n=> ", "\n")
		if got := read(t, name, text+"\n"); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", title, got, want)
		}
	}
}

// TestShellTouchesNothing gives scripts that would write, read and run in every way: nothing is there afterwards.
func TestShellTouchesNothing(t *testing.T) {
	folder := t.TempDir()
	for _, text := range []string{"touch F/a", "echo x > F/a", "exec > F/a", "exec touch F/a", "eval 'touch F/a'", "bash -c 'echo x > F/a'", "cat <(touch F/a) > F/b", "command touch F/a", "builtin cd F; echo x > a", "trap 'touch F/a' EXIT",
		"A=$(touch F/a)", "f() { touch F/a; }; f", "coproc touch F/a", "time touch F/a", "touch F/a | tee F/b", "mapfile -t x < F/a", "source F/a", "cd F && : > a", "echo x | tee F/a &", "A=`echo x > F/a`", "{ echo x; } >> F/a", "while :; do echo x > F/a; done",
		"cat > F/a <<EOF\nx: 1\nEOF", "[[ $(touch F/a) ]]", "(( $(touch F/a) ))", "case $(touch F/a) in *) ;; esac", "A=(1 2); echo x > F/${A[$(touch F/b)]}"} {
		_, _ = Parse("x.sh", []byte(strings.ReplaceAll(text, "F", folder)+"\npython x.py --a 1\n"))
		if list, err := os.ReadDir(folder); err != nil || len(list) > 0 {
			t.Errorf("%s: %v %v", text, list, err)
		}
	}
}

// TestBounds gives texts that grow without bound: each is refused with one line, in time and memory.
func TestBounds(t *testing.T) {
	double := "A=aaaaaaaaaaaaaaaa\n" + strings.Repeat("A=\"$A$A\"\n", 60) + "python x.py a=$A"
	var anchors strings.Builder
	anchors.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&anchors, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	for name, text := range map[string]string{
		"double.sh":    double,
		"wide.sh":      "A=" + strings.Repeat("x", 60000) + "\npython x.py " + strings.Repeat("$A", 50000),
		"braces.sh":    "python x.py {1..9999999}{1..9999999}",
		"letters.sh":   "python x.py {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}",
		"replace.sh":   "A=" + strings.Repeat("x", 60000) + "\nB=${A//x/" + strings.Repeat("y", 60000) + "}\npython x.py b=$B",
		"array.sh":     "A=(1 2 3 4)\n" + strings.Repeat("A+=(\"${A[@]}\")\n", 60) + "python x.py ${A[@]}",
		"branches.sh":  strings.Repeat("if [ -f x ]; then A=$A$RANDOM$A; else A=$A$A; fi\n", 200) + "python x.py a=$A",
		"recursive.sh": "f() { f; f; f; }\nf\npython x.py a=1",
		"loops.sh":     strings.Repeat("for i in 1 2 3 4 5 6 7 8 9 10; do\n", 40) + "X=$i\n" + strings.Repeat("done\n", 40),
		"deep.sh":      strings.Repeat("$(", 100000),
		"if.sh":        strings.Repeat("if ", 8000),
		"quotes.sh":    strings.Repeat("\"$(", 80000),
		"deep.toml":    "a = " + strings.Repeat("[", 100000),
		"deep.yaml":    "a: " + strings.Repeat("[", 100000),
		"alias.yaml":   anchors.String(),
		"keys.yaml":    strings.Repeat("k", 1<<20) + ":\n" + strings.Repeat("- x\n", 100000),
		"long.sh":      strings.Repeat("a=1\n", 1<<18),
		"deep.py":      strings.Repeat("f(a=", 100000),
		"eval.sh":      "A='eval \"$A$A\"'\neval \"$A\"",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		documents, err := Parse(name, []byte(text))
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<30 {
			t.Errorf("%s: %d MB", name, grown>>20)
		}
		if err != nil && strings.Count(err.Error(), "\n") > 0 {
			t.Errorf("%s: %v", name, err)
		}
		switch name {
		case "recursive.sh", "branches.sh", "eval.sh", "deep.py", "loops.sh": // bounded without a refusal
		default:
			if err == nil {
				t.Errorf("%s is read: %d documents", name, len(documents))
			}
		}
	}
}

func FuzzShell(f *testing.F) {
	for _, seed := range []string{"A=${B:-1}\npython x.py a=$A", "for i in {1..3}; do f $i; done", "A=(a b)\nA[1]=c\npython x.py ${A[@]} $((A+1))", "case $x in a) ;; esac", "[[ -n $x && a == b ]] && eval $x",
		"f() { f $@; }; f 1", "cat <<EOF\na: $b\nEOF", "x=${y//a/b}; [ 1 -lt 2 -a -z \"$z\" ] || true", "while read l; do A+=$l; done; swift rlhf --a $A"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = Parse("x.sh", []byte(text))
	})
}

func FuzzTOML(f *testing.F) {
	for _, seed := range []string{"a = 1\n[b]\nc = [1, {d = 2}]", "[[a]]\nb.c = \"\"\"x\"\"\"\n[[a.b]]", "a = 1979-05-27T07:32:00Z"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = Parse("x.toml", []byte(text))
		_, _ = Parse("x.py", []byte(text))
		_, _ = Parse("x.yaml", []byte(text))
	})
}
