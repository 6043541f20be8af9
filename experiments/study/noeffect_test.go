package study

import (
	"strings"
	"testing"
)

// TestNoEffects: a note names the points that it is of by the least that tells them from
// the others.
func TestNoEffects(t *testing.T) {
	g := gridOf(t, "base: default\nset: {rollout: {numerics: bf16}, learner: {numerics: bf16}}\nfactors:\n"+
		"- {field: loss, values: [ppo_clip, reinforce, cispo]}\n- {field: learner.minibatches, values: [1, 2]}\n- {field: correction.weights, values: [none, token_tis]}\n")
	var got []string
	for _, n := range g.Index().NoEffects() {
		part, _, _ := strings.Cut(n.Note, ": ")
		got = append(got, n.Where+": "+part)
	}
	want := []string{
		"loss=ppo_clip,learner.minibatches=1: loss ppo_clip",
		"correction.weights=token_tis: correction.weights token_tis",
		"loss=cispo,learner.minibatches=1: loss cispo",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	x := &Index{Factors: []IndexFactor{{Name: "a", Values: []string{"1", "2"}}, {Name: "b", Values: []string{"1", "2"}}}}
	for _, p := range [][2]string{{"1", "1"}, {"1", "2"}, {"2", "1"}, {"2", "2"}} {
		x.Arms = append(x.Arms, Arm{Values: map[string]string{"a": p[0], "b": p[1]}})
	}
	if got, want := x.where([]int{0, 3}), "2 of 4 points, such as 1, 1"; got != want {
		t.Errorf("two corners are %q, want %q", got, want)
	}
	if got, want := x.where([]int{0, 1, 2, 3}), "every point"; got != want {
		t.Errorf("all points are %q, want %q", got, want)
	}
}

// TestTwins: a run that was trained like an earlier one of its seed is told as its equal,
// under the name of the first point; another seed and another trace are not.
func TestTwins(t *testing.T) {
	rows := []Row{{Run: "a", Seed: 1, Outcome: Outcome{Trace: "xxxx"}}, {Run: "b", Seed: 1, Outcome: Outcome{Trace: "xxxx"}}, {Run: "c", Seed: 2, Outcome: Outcome{Trace: "xxxx"}},
		{Run: "d", Seed: 1, Outcome: Outcome{Trace: "xxxy"}}, {Run: "e", Seed: 1}, {Run: "f", Seed: 1}, {Run: "a", Seed: 1, Outcome: Outcome{Trace: "xxxx"}}}
	if got := twins(rows); len(got) != 1 || got["b"] != "a" {
		t.Errorf("twins %v, want b like a", got)
	}
	v := &Folder{Index: &Index{Factors: []IndexFactor{{Name: "m"}}}, Rows: rows}
	for _, p := range [][2]string{{"first", "a"}, {"second", "b"}, {"third", "d"}, {"fourth", "a"}} {
		v.Arms = append(v.Arms, Arm{Values: map[string]string{"m": p[0]}, Keys: []string{p[1]}})
	}
	for i, want := range []string{"", "first", "", "first"} {
		if got := v.marks()[i][1]; got != want {
			t.Errorf("point %d is the same as %q, want %q", i, got, want)
		}
	}
}
