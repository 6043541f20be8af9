package foreign

import (
	_ "embed"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"driftlab/precision/must"
	"driftlab/trainer/recipe"
)

//go:embed testdata/configurations.txt
var configurationsText string

// TestConfigurations reads what people write for each framework, a block, a whole file, flags, overrides, TOML, a call: the
// recipe has the values, and a message about what is wrong names the line and the fix. The file says how it is read.
func TestConfigurations(t *testing.T) {
	_, cases, _ := strings.Cut(configurationsText, "\n--- ")
	for c := range strings.SplitSeq(cases, "\n--- ") {
		title, lines, _ := strings.Cut(c, "\n")
		name, framework, _ := strings.Cut(title, " ")
		framework, _, _ = strings.Cut(framework, " ")
		var text, off, fault string
		var want []string
		for line := range strings.Lines(lines + "\n") {
			mark, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			switch mark {
			case ">":
				want = append(want, rest)
			case "off:":
				off = rest
			case "!":
				fault = rest
			default:
				text += line
			}
		}
		got, err := ReadAs("", name, []byte(text))
		if fault != "" {
			if err == nil || !strings.HasPrefix(err.Error(), fault) {
				t.Errorf("%q:\ngot  %v %v\nwant %s", text, err, got, fault)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", title, err)
			continue
		}
		all := strings.Join(got.Assignments(), "\n")
		for _, part := range want {
			if !strings.Contains(all, part) {
				t.Errorf("%s: no %q in\n%s\n%s", title, part, all, got.Table())
			}
		}
		if got.Framework != framework || got.Off != off || len(got.Settings) == 0 {
			t.Errorf("%s: taken for %s, off %q, %d settings, notes %q", title, got.Framework, got.Off, len(got.Settings), got.Notes)
		}
		recipeOf(t, got)
	}
	for text, want := range map[string]string{"\x00": "x: not a text", "": "x: no setting of a correction is known here"} {
		if _, err := ReadAs("", "x", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestUncertain holds texts that two frameworks could have written: both are named.
func TestUncertain(t *testing.T) {
	text := []byte("--num_generations 8 --epsilon 0.2 --beta 0.04")
	if _, err := ReadAs("", "x", text); err == nil || !strings.Contains(err.Error(), "could be of trl or of ms-swift: say which with --dialect") {
		t.Error(err)
	}
	if c, err := ReadAs("ms-swift", "x", text); err != nil || c.Framework != "ms-swift" {
		t.Error(c, err)
	}
	if _, err := ReadAs("swift", "x", text); err == nil || !strings.Contains(err.Error(), `unknown name "swift"`) {
		t.Error(err)
	}
}

// TestFates holds that every setting is in the table once, and no other.
func TestFates(t *testing.T) {
	c, err := ReadAs("", "x.yaml", []byte("actor_rollout_ref:\n  rollout: {n: 5, temperature: \"${oops.where}\"}\n  actor: {optim: {lr: 1e-6}, fsdp_config: {offload_policy: true}, mystery: 3}\ndata: {train_files: a}\nodd: 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Fate{"actor_rollout_ref.rollout.n": Taken, "actor_rollout_ref.rollout.temperature": NotTaken, "actor_rollout_ref.actor.optim.lr": NotTaken,
		"actor_rollout_ref.actor.fsdp_config.offload_policy": NoEffect, "actor_rollout_ref.actor.mystery": NoEffect, "data.train_files": NoEffect, "odd": NotTaken}
	for _, s := range c.Settings {
		if fate, ok := want[s.Key]; !ok || fate != s.Fate || s.Why == "" {
			t.Errorf("%+v", s)
		}
		delete(want, s.Key)
	}
	if len(want) > 0 {
		t.Error(want)
	}
	if table := c.Table(); !strings.Contains(table, "`actor_rollout_ref.rollout.n` = 5") || strings.Count(table, "optim.lr") != 1 {
		t.Error(table)
	}
}

// TestPublicConfigurations reads every file below the folder that DRIFTLAB_CONFIGS names:
// each is accepted, and each of its settings has a fate. Without the variable it is left out.
func TestPublicConfigurations(t *testing.T) {
	folder := os.Getenv("DRIFTLAB_CONFIGS")
	if folder == "" {
		t.Skip("DRIFTLAB_CONFIGS names no folder")
	}
	n := 0
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Dir(path) == filepath.Clean(folder) {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n++
		c, err := ReadAs("", path, text)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return nil
		}
		changes, err := c.Changes()
		if err == nil {
			_, err = recipe.LoadChanged("default", changes...)
		}
		if err != nil || len(c.Settings) == 0 {
			t.Errorf("%s: %d settings, %v", path, len(c.Settings), err)
		}
		return nil
	})
	if err != nil || n == 0 {
		t.Errorf("%d files, %v", n, err)
	}
}

// A correction of verl whose log-probs are not asked for is on by today's default, and off by that of older versions.
func TestVerlLogProbsByDefault(t *testing.T) {
	for stated, want := range map[string]struct {
		off  string
		note bool
	}{"": {"", true}, ", calculate_log_probs: true": {"", false}, ", calculate_log_probs: false": {"calculate_log_probs is false, so there are no log-probs of the rollout engine", false}} {
		c := must.Get(ReadAs("", "x", []byte("algorithm: {rollout_correction: {rollout_is: token}}\nactor_rollout_ref: {rollout: {n: 4"+stated+"}}")))(t)
		if noted := strings.Contains(strings.Join(c.Notes, " "), "calculate_log_probs is not set"); c.Off != want.off || noted != want.note {
			t.Errorf("%q: off %q, notes %q", stated, c.Off, c.Notes)
		}
	}
}
