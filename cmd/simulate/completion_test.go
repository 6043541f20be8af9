package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// commandTable is the table of commands and flags.
func commandTable(t *testing.T) *kong.Application {
	t.Helper()
	parser := newParser(&app{}, &cli{})
	return parser.Model
}

// TestCompletions: what could stand next, as a shell asks; the last word is the
// one being typed.
func TestCompletions(t *testing.T) {
	model := commandTable(t)
	for _, c := range []struct {
		line string
		want string // all words that are offered, "" for none
	}{
		{"tra", "train"},
		{"checkpoint ", "list export"},
		{"help checkpoint ex", "export"},
		{"help tra", "train"},
		{"train fp8-rollout", "fp8-rollout-token-tis"},
		{"measure --att", "--attribute"},
		{"--see", "--seeds --seed"},
		{"measure --rollout fp4-m", "fp4-mx"},
		{"measure --rollout=fp4-m", "--rollout=fp4-mx"},
		{"measure --rollout = fp4-m", "--rollout=fp4-mx"}, // as bash splits it
		{"measure --learner bf16 --rollout fp4-m", "fp4-mx"},
		{"train -q --set learner.optimizer.be", "learner.optimizer.beta1= learner.optimizer.beta2="},
		{"reproduce --quick fp16", "fp16-bf16-gap"},
		{"checkpoint export chain", "chain-base"},
		{"checkpoint export chain-base ", ""},
		{"methods token_t", "token_tis"},
		{"completion f", "fish"},
		{"train --dump ", ""}, // files are the shell's
		{"bench --ou", ""},
		{"compl", "completion"}, // and not the hidden command complete
	} {
		var words []string
		for _, found := range completions(model, strings.Split(c.line, " ")) {
			words = append(words, found.word)
		}
		if got := strings.Join(words, " "); got != c.want {
			t.Errorf("%q: %q, want %q", c.line, got, c.want)
		}
	}
	if len(completions(model, nil)) == 0 {
		t.Error("nothing to begin with")
	}
}

// TestCompletionKinds: a tag that names no list completes nothing for ever.
func TestCompletionKinds(t *testing.T) {
	model := commandTable(t)
	var check func(*kong.Node)
	check = func(n *kong.Node) {
		tags := []*kong.Tag{}
		for _, p := range n.Positional {
			tags = append(tags, p.Tag)
		}
		for _, f := range n.Flags {
			tags = append(tags, f.Tag)
		}
		for _, tag := range tags {
			if kind := tag.Get("complete"); kind != "" && kind != "files" && kind != "dirs" && len(values(kind)) == 0 {
				t.Errorf("%s: nothing completes %q", n.FullPath(), kind)
			}
		}
		for _, child := range n.Children {
			check(child)
		}
	}
	check(model.Node)
}

// TestCompletionScripts asks the shells that are there whether the scripts are
// theirs.
func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		script := "completion/simulate." + shell
		if _, err := exec.LookPath(shell); err != nil {
			t.Logf("no %s here", shell)
			continue
		}
		if out, err := exec.Command(shell, "-n", script).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v: %s", script, err, out)
		}
	}
}

// TestHelpComplete: every command and every flag has one description, and has
// its place in the manual page.
func TestHelpComplete(t *testing.T) {
	model := commandTable(t)
	page := manPage("driftlab, a commit")
	if !strings.Contains(page, "a commit") {
		t.Error("the page does not say of which build it is")
	}
	for _, node := range model.Leaves(true) {
		if node.Help == "" || !strings.Contains(node.Detail+node.Parent.Detail, "Examples:") {
			t.Errorf("%s: help and examples must be there", node.FullPath())
		}
		_, section, found := strings.Cut(page, `.SS "`+roffText(commandName(node)))
		section, _, _ = strings.Cut(section, "\n.S")
		if !found {
			t.Errorf("the manual page has no %s", commandName(node))
		}
		var names []string
		for _, f := range node.Flags {
			if names = append(names, f.Name); f.Help == "" {
				t.Errorf("%s --%s: no help", node.FullPath(), f.Name)
			}
			if !strings.Contains(strings.ReplaceAll(section, `[no\-]`, ""), roffText(f.String())) {
				t.Errorf("the manual page has no %s --%s", commandName(node), f.Name)
			}
		}
		if slices.Sort(names); len(slices.Compact(names)) != len(node.Flags) {
			t.Errorf("%s: a flag is there twice", node.FullPath())
		}
	}
	for line := range strings.SplitSeq(page, "\n") {
		if strings.HasPrefix(line, ".") && !strings.Contains(" TH SH SS PP TP B nf fi ", " "+strings.Fields(line[1:])[0]+" ") {
			t.Errorf("read as a request: %q", line)
		}
	}
	if groff, err := exec.LookPath("groff"); err == nil {
		c := exec.Command(groff, "-man", "-Tutf8", "-ww", "-z")
		c.Stdin = strings.NewReader(page)
		if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%v: %s", err, out)
		}
	}
}
