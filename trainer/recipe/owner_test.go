package recipe

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestParameterWithoutMethod: parameters alone belong to the default method where it
// takes them; else the error says the line that works, and that line does.
func TestParameterWithoutMethod(t *testing.T) {
	bare := filepath.Join(t.TempDir(), "bare.yaml")
	must(t, os.WriteFile(bare, []byte("name: bare\n"), 0o644))
	r := loaded(t, bare, "loss.eps_low=0.1", "task.difficulty=[2, 4]")
	if same, err := Load(bare, "loss={name: ppo_clip, eps_low: 0.1}", "task={name: chain, difficulty: [2, 4]}"); err != nil || !bytes.Equal(r.YAML(), same.YAML()) {
		t.Errorf("%v: the parameters alone give\n%s\nwith their methods\n%s", err, r.YAML(), same.YAML())
	}
	for _, c := range []struct{ base, set, want string }{
		{bare, "schedule.k=4", `schedule.name: missing: k is a parameter of lag, verl_on_policy, `},
		{"default", "schedule.k=4", `more: say --set "schedule={name: lag, k: 4}"`},
		{"default", "correction.weights.cap=3", `say --set "correction.weights={name: token_tis, cap: 3}"`},
		{bare, "correction.weights.cap=3", `say --set "correction.weights={name: token_tis, cap: 3}"`},
		{bare, "correction.masks[0].low=0.9", `say --set "correction.masks[0]={name: geometric, low: 0.9}"`},
	} {
		_, err := Load(c.base, c.set)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s --set %s: %v, want %s", c.base, c.set, err, c.want)
			continue
		}
		_, line, _ := strings.Cut(err.Error(), `say --set "`)
		line = strings.TrimSuffix(line, `"`)
		if _, err := Load(c.base, line); err != nil {
			t.Errorf("%s --set %s is recommended: %v", c.base, line, err)
		}
	}
	if _, err := Load(bare, "loss.nosuch=1"); err == nil || !strings.Contains(err.Error(), "loss.name: missing: choose one of a2po, ") {
		t.Errorf("a parameter of no method: %v", err)
	}
}
