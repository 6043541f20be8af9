package method_test

import (
	"fmt"
	"strings"
	"testing"

	"driftlab/trainer/method"
)

// clip stands for the interface of a group of methods.
type clip struct{ Low float64 }

var table = method.Table[*clip]{
	{Spec: method.Spec{Name: "ppo_clip", Aliases: []string{"vanilla"}}, New: func() *clip { return &clip{Low: 0.2} }},
	{Spec: method.Spec{Name: "gspo"}, New: func() *clip { return &clip{Low: 3e-4} }},
}

func Example() {
	table := method.Table[*clip]{
		{Spec: method.Spec{Name: "ppo_clip", Aliases: []string{"vanilla"}}, New: func() *clip { return &clip{Low: 0.2} }},
	}
	e, _ := table.Lookup("vanilla")
	fmt.Println(e.Name, e.New().Low)
	_, err := table.Lookup("pop_clip")
	fmt.Println(err)
	// Output:
	// ppo_clip 0.2
	// unknown name "pop_clip": did you mean "ppo_clip"? (known: ppo_clip)
}

func TestLookup(t *testing.T) {
	for name, want := range map[string]float64{"ppo_clip": 0.2, "vanilla": 0.2, "gspo": 3e-4} {
		e, err := table.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.New().Low; got != want {
			t.Errorf("%s: low %v, want %v", name, got, want)
		}
	}
	a, _ := table.Lookup("gspo")
	if x := a.New(); x == a.New() {
		t.Error("New returned the same value twice: two runs would share it")
	}
	_, err := table.Lookup("dapo")
	if err == nil || !strings.Contains(err.Error(), "ppo_clip, gspo") {
		t.Errorf("an unknown name must list the known ones, got %v", err)
	}
}

// TestUnknownName: a short list is shown in full, of a long one the three nearest, with
// names that contain the word in front.
func TestUnknownName(t *testing.T) {
	many := []string{"aaaaaaaa", "bbbbbbbb", "cccccccc", "dddddddd", "eeeeeeee", "ffffffff", "gggggggg", "long_name_of_tis", "tiz", "tas", "hhhhhhhh"}
	for _, c := range []struct {
		name  string
		known []string
		want  string
	}{
		{"tis", many, `unknown name "tis": did you mean "long_name_of_tis"? (known: long_name_of_tis, tiz, tas and 8 more)`},
		{"", many, `unknown name "" (known: aaaaaaaa, bbbbbbbb, cccccccc and 8 more)`},
		{"tis", many[8:10], `unknown name "tis": did you mean "tiz"? (known: tiz, tas)`},
	} {
		if got := method.UnknownName(c.name, c.known).Error(); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}

func TestNearestMethodName(t *testing.T) {
	known := []string{"token_tis", "sequence_tis", "icepop", "none"}
	for _, c := range []struct{ name, want string }{
		{"token_tis", "token_tis"},
		{"toke_tis", "token_tis"},
		{"TOKEN_TIS", "token_tis"},
		{"squence_tis", "sequence_tis"},
		{"icepops", "icepop"},
		{"non", "none"},
		{"xyz", ""},    // nothing in common
		{"", ""},       // nothing was written
		{"quatro", ""}, // too far from all
		{"ice-pop", "icepop"},
	} {
		if got := method.Nearest(c.name, known); got != c.want {
			t.Errorf("Nearest(%q) = %q, want %q", c.name, got, c.want)
		}
	}
	if got := method.Nearest("abc", []string{"abd", "abe"}); got != "abd" {
		t.Errorf("of equally near names the first counts, got %q", got)
	}
}
