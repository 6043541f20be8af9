package source

import (
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

// TestShell follows scripts as the shell does: each line of want is what a shell gives the program, worked out by hand.
func TestShell(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"defaults", "A=${A:-1}\nB=${B:=two}\npython x.py a.b=$A c=${C:-${B}} d=${D-3}", "a.b=1\nc=two\nd=3"},
		{"continued", "python x.py \\\n  --one 1 \\\n  --two=2 # a comment", "one=1\ntwo=2"},
		{"arrays", "ARGS=(--clip 0.2\n  # --off 3\n  --on)\nARGS+=(--more 'a b')\nray job submit --address x -- python3 x.py \"${ARGS[@]}\"", "clip=0.2\non=on\nmore=a b"},
		{"arithmetic", "N=8\npython x.py a=$((1024 * N)) b=$(( (N+1)/2 ))", "a=8192\nb=4"},
		{"if", "M=gspo\nif [ \"$M\" = gspo ]; then E=3e-4; elif [[ $M == g* ]]; then E=1; else E=0.2; fi\npython x.py e=$E", "e=3e-4"},
		{"case", "M=b\ncase $M in a) E=1;; b|c) E=2;; *) E=3;; esac\npython x.py e=$E", "e=2"},
		{"unset", "[ -z \"$X\" ] && X=5\n[[ -n $Y ]] && X=6\npython x.py x=$X", "x=5"},
		{"undecided", "if [ -f /data ]; then E=1; else E=2; fi\npython x.py e=$E f=3", "e=1 (the script gives 1 or 2, by a condition or a loop)\nf=3"},
		{"empty array", "A=(\n  # --off 3\n)\npython x.py --x 1 \"${A[@]}\" \"${A[*]:+--y}\" --z 2", "x.0=1\nx.1=\nz=2"},
		{"arrays in quotes", "A=()\nB=(--y 'a b')\npython x.py --x 1 \"${A[@]}\" \"${B[@]}\" ${A[@]} --z", "x=1\ny=a b\nz=on"},
		{"script among values", "swift rlhf --loss_type sapo --external_plugins a/plugin.py --beta 0.1", "loss_type=sapo\nexternal_plugins=a/plugin.py\nbeta=0.1"},
		{"script behind a flag", "accelerate launch --multi_gpu x.py --beta 0.1", "beta=0.1"},
		{"separator", "python mason.py --gpus 8 -- source a.sh \\&\\& python x.py --beta 0.1", "beta=0.1"},
		{"undecided array", "A=()\nif nvidia-smi | grep -q H100; then A=(--fp8); fi\npython x.py --x 1 ${A[@]}", "x=1\nfp8=on (the script gives on or nothing, by a condition or a loop)"},
		{"loop", "for lr in 1 2; do python x.py lr=$lr n=3; done", "lr=1 (the script gives 1 or 2, by a condition or a loop)\nn=3"},
		{"function", "run() { local k=$1; python x.py k=$k \"${@:2}\"; }\nrun 7 a=b", "k=7\na=b"},
		{"not set", "python x.py a=$NOWHERE b=$(nproc)", "a=${NOWHERE}\nb=$(...)"},
		{"shell variable", "rollout_is=token\npython x.py a=1", "a=1"},
		{"exit", "if [ -z \"$1\" ]; then echo usage; exit 1; fi\npython x.py a=1", "a=1"},
		{"arguments", "while [[ $# -gt 0 ]]; do case $1 in --a) A=2; shift;; esac; done\npython x.py a=${A:-1} \"$@\"", "a=1"},
		{"lists", "python x.py '+a.b=[1,x]' --pair 0.5 5.0 --neg -1", "a.b.0=1\na.b.1=x\npair.0=0.5\npair.1=5.0\nneg=-1"},
		{"heredoc", "cat > c.yaml <<EOF\nactor:\n  n: ${N:-4}\nEOF\npython x.py", "actor.n=4"},
		{"two programs", "python convert.py --in a\npython train.py --lr 1", "in=a\nlr=1"},
		{"associative", "declare -A H\nH[a]=1\npython x.py a=${H[a]}", "a=1"},
		{"printed", "P=$(printf '%s-%02d' a 7)\npython x.py --p $P --q \"$(date +%s)-$P\"", "p=a-07\nq=$(...)-a-07"},
		{"read in a loop", "B=()\nwhile read -r l; do B+=(--x $l); done < list\npython x.py --y 1 \"${B[@]}\"", "y=1\nx=${l} (the script gives ${l} or nothing, by a condition or a loop)"},
		{"in the background", "python a.py --x 1 > log 2>&1 &\nwait $!", "x=1"},
		{"endless", "python a.py --x 1 &\nwhile true; do sleep 60; done\npython b.py --y 2", "x=1\ny=2"},
		{"one of two unknown", "if [[ -n $CI && -f a ]]; then E=1; elif [[ -f b ]]; then E=2; elif [[ -f c ]]; then E=3; else E=4; fi\npython x.py --e $E", "e=2 (the script gives 2 or 3 or 4, by a condition or a loop)"},
		{"case unknown", "case $(hostname) in a*) E=1;; b) E=2;; *) E=3;; esac\npython x.py --e $E", "e=1 (the script gives 1 or 2 or 3, by a condition or a loop)"},
		{"exit in a branch that is not known", "E=1\nif ! command -v nvcc; then E=2; exit 1; fi\npython x.py --e $E", "e=1"},
		{"defaults in a sum", "python x.py --a $((${N:-8} * 2)) --b $((M * 2)) --c ${X:?missing}", "a=16\nb=$((M * 2))\nc=${X}"},
		{"machine", "python x.py --h $HOME --u $UID --p $PWD --r $RANDOM --s $0", "h=${HOME}\nu=${UID}\np=${PWD}\nr=${RANDOM}\ns=${0}"},
		{"after another file", "source env.sh\nif [ -z \"$X\" ]; then E=1; else E=2; fi\npython x.py --e $E", "e=1 (the script gives 1 or 2, by a condition or a loop)"},
		{"made text", "C='python x.py --a 1'\neval \"$C --b 2\"\nbash -c 'python y.py --c 3'", "a=1\nb=2\nc=3"},
		{"strip", "F=/x/model.tar\nB=${F##*/}\npython x.py n=${B%.tar}", "n=model"},
	} {
		if got := read(t, "x.sh", c.text); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
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

// TestFormats reads the other formats.
func TestFormats(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"x.toml", "a = 1\n[b.c]\nd = \"e\" # f\ng = [1, 2]\nh = {i = true}\n[[k]]\nl = 1\n[[k]]\nl = 2\n", "a=1\nb.c.d=e\nb.c.g.0=1\nb.c.g.1=2\nb.c.h.i=true\nk.0.l=1\nk.1.l=2"},
		{"x.yaml", "a: &x {b: 1}\nc: *x\nd: {<<: *x, e: null}\nf: ${a.b}\ng: ${oc.select:no.where,7}\nh: ${mul:${a.b},3}\ni: {j: 2, k: \"${.j}\"}\nl: ${oc.env:HOME,x}\nm: ${odd:1}",
			"a.b=1\nc.b=1\nd.b=1\nd.e=null\nf=1\ng=7\nh=3\ni.j=2\ni.k=2\nl=x\nm=${odd:1}"},
		{"x.py", "N = 3\nargs = Config(a=N, b='x # y', c=Inner(d=[1, 2], e=True), f={\"g\": 0.5}, h=fn(1))\n", "a=3\nb=x # y\nc.d.0=1\nc.d.1=2\nc.e=True\nf.g=0.5"},
		{"x.yaml", "a: [b", "x.yaml: no YAML: yaml: line 2: did not find expected ',' or ']'"},
		{"x.sh", "if then", "x.sh: no script: 1:1: `if` must be followed by a statement list"},
	} {
		if got := read(t, c.name, c.text); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.text, got, c.want)
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
