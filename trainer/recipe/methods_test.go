package recipe

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"driftlab/trainer/method"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/loss"
)

// TestMethods checks that every entry has what a reader needs, valid defaults and a name of its own for each parameter,
// and that it can be shown as JSON.
func TestMethods(t *testing.T) {
	all := Methods()
	taken := map[string]bool{}
	word := regexp.MustCompile(`^[a-z0-9_+./-]+$`)
	for _, m := range all {
		for _, name := range append([]string{m.Name}, m.Aliases...) {
			if name = m.Field + " " + name; taken[name] || !word.MatchString(m.Name) {
				t.Errorf("%s is taken twice, or is no name that a recipe could use", name)
			}
			taken[name] = true
		}
		worked := !slices.Contains([]string{"task", "routing.replay", "routing.gates"}, m.Field)
		for i, text := range []string{m.Group, string(m.Unit), m.Source, m.Formula, m.Gradient, m.Example} {
			if text == "" && (i < 3 || worked || i < 5 && m.Field == "task") {
				t.Errorf("%s %s: text field %d of the spec is empty", m.Field, m.Name, i)
			}
		}
		if worked && strings.Count(m.Example, "\n") != 2 {
			t.Errorf("%s %s: the example has not three lines", m.Field, m.Name)
		}
		if m.Params == nil {
			continue
		}
		if err := method.Check(m.Params); err != nil {
			t.Errorf("%s %s: the defaults are invalid: %v", m.Field, m.Name, err)
		}
		for _, f := range reflect.VisibleFields(reflect.TypeOf(m.Params).Elem()) {
			if f.IsExported() && f.Tag.Get("yaml") == "" {
				t.Errorf("%s %s: field %s has no recipe name", m.Field, m.Name, f.Name)
			}
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	var back []struct {
		Name, Field string
		Aliases     []string
		Defaults    map[string]any
	}
	if err := json.Unmarshal(text, &back); err != nil || len(back) != len(all) {
		t.Fatalf("%d entries of %d: %v", len(back), len(all), err)
	}
	for _, m := range back {
		if m.Name == "" || m.Field == "" || m.Aliases == nil || m.Defaults == nil {
			t.Errorf("incomplete entry %+v", m)
		}
		if m.Name == "token_tis" && m.Defaults["cap"] != 2.0 {
			t.Errorf("defaults of token_tis: %v", m.Defaults)
		}
	}
}

// TestJSON compares the JSON form of a recipe with the recipe.
func TestJSON(t *testing.T) {
	r := loaded(t, "fp8-rollout-token-tis", "name=a", "correction.weights.cap=.inf", `checkpoint="x\"y"`)
	var back map[string]any
	if err := json.Unmarshal(r.JSON(), &back); err != nil {
		t.Fatalf("%v\n%s", err, r.JSON())
	}
	if back["name"] != "a" || back["steps"] != 300.0 || back["checkpoint"] != `x"y` ||
		back["correction"].(map[string]any)["weights"].(map[string]any)["cap"] != ".inf" {
		t.Errorf("%s", r.JSON())
	}
	if strings.Contains(string(r.JSON()), "\n") {
		t.Error("more than one line")
	}
}

// One name has one default: trm as a mask and as a loss.
func TestTRMDefaults(t *testing.T) {
	r := loaded(t, "default", "loss=trm", "correction.masks=[trm]")
	l, m := r.Loss.Params.(*loss.TRM), r.Correction.Pipeline().Masks[0].(*correction.TRM)
	if l.Delta != m.Delta {
		t.Errorf("delta is %v of the loss and %v of the mask", l.Delta, m.Delta)
	}
}

// Every method begins its page with a sentence that says what it does and one that says
// when to use it: short, complete and its own.
func TestMethodsSayWhatTheyDoAndWhen(t *testing.T) {
	of := map[string]string{}
	for _, m := range Methods() {
		name := m.Field + " " + m.Name
		for _, sentence := range []string{m.Does, m.When} {
			switch words := len(strings.Fields(sentence)); {
			case !strings.HasSuffix(sentence, "."):
				t.Errorf("%s: %q does not end with a full stop", name, sentence)
			case words < 3 || words > 30:
				t.Errorf("%s: %q has %d words, not 3 to 30", name, sentence, words)
			case strings.Contains(strings.ReplaceAll(sentence, "Dr. GRPO", ""), ". "):
				t.Errorf("%s: %q is more than one sentence", name, sentence)
			case of[sentence] != "":
				t.Errorf("%s and %s: the same sentence %q", of[sentence], name, sentence)
			}
			of[sentence] = name
		}
		if !strings.HasPrefix(m.When, "Use it ") {
			t.Errorf("%s: %q does not say when to use it", name, m.When)
		}
	}
}

// TestLimitsOfParameters holds the defaults and limits of every field of a recipe and parameter of a method against
// a listing, which -update writes. That method.Check keeps to what tags say is tested there.
func TestLimitsOfParameters(t *testing.T) {
	const listing = "testdata/parameters.txt"
	var got strings.Builder
	listLimits(&got, "", reflect.TypeFor[Recipe]())
	for _, m := range Methods() {
		if m.Params != nil { // routings have none
			listLimits(&got, m.Field+" "+m.Name+" ", reflect.TypeOf(m.Params).Elem())
		}
	}
	if *update {
		must(t, os.WriteFile(listing, []byte(got.String()), 0o644))
	}
	want, err := os.ReadFile(listing)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("limits differ (-want +got):\n%s", diff)
	}
}

// listLimits writes the parameters of a struct, and of the structs in it, with what their tags say.
func listLimits(b *strings.Builder, prefix string, s reflect.Type) {
	if s.Kind() == reflect.Pointer {
		s = s.Elem()
	}
	if s.Kind() != reflect.Struct {
		return
	}
	for i := range s.NumField() {
		f := s.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case options == "inline":
			listLimits(b, prefix, f.Type)
		case name != "" && name != "-" && f.IsExported():
			limits := ""
			for _, tag := range []string{"default", "range", "oneof"} {
				if text := f.Tag.Get(tag); text != "" {
					limits += fmt.Sprintf(" %s %s", tag, text)
				}
			}
			if limits != "" {
				fmt.Fprintf(b, "%s%s:%s\n", prefix, name, limits)
			}
			listLimits(b, prefix+name+".", f.Type)
		}
	}
}
