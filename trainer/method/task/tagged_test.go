package task

import (
	"slices"
	"testing"
)

// TestTagged: a right answer of the chain task is right in either template, and
// putting it into this one gives its form; twice is once.
func TestTagged(t *testing.T) {
	plain, tagged := NewChain(), NewTagged()
	plain.Noise, tagged.Noise = 0.5, 0.5
	rng := seeded(5)
	for range 500 {
		p := Draw(plain, rng)
		if q := tagged.Reproduce(p.ID); !slices.Equal(p.Tokens, q.Tokens) {
			t.Fatal("the prompts differ")
		}
		response := plain.Demonstration(nil, p, rng)
		form := tagged.Template(nil, response)
		if again := tagged.Template(nil, form); !slices.Equal(again, form) || len(form) != len(response)+2 {
			t.Fatalf("%s became %s and %s", Text(sharedVocab, response), Text(sharedVocab, form), Text(sharedVocab, again))
		}
		a, b, c := plain.Verify(p, response), tagged.Verify(p, response), tagged.Verify(p, form)
		if a.Correct != b.Correct || a.Correct != c.Correct || b.Format || !c.Format || a.count != c.count {
			t.Fatalf("%s: %v, untagged %v, tagged %v", Text(sharedVocab, response), a, b, c)
		}
		for i, s := range c.Steps() {
			if s.End != a.steps[i].End+1 || s.Valid != a.steps[i].Valid || s.Exact != a.steps[i].Exact {
				t.Fatalf("step %d: %v and %v", i, s, a.steps[i])
			}
		}
		if v := tagged.Verify(p, append([]int32{equals}, response...)); v.Format {
			t.Fatal("a tag that is not closed has the form")
		}
	}
}
