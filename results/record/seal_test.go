package record

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"driftlab/precision/must"
)

// TestSealedLine: a line reads back without its seal, and no byte of it can change. The
// seal is half of what `printf '{"a":1}' | sha256sum` prints.
func TestSealedLine(t *testing.T) {
	sealed := SealLine([]byte(`{"a":1}`))
	if want := `{"a":1,"seal":"015abd7f5cc57a2dd94b7590f04ad808"}`; string(sealed) != want {
		t.Fatalf("%s, want %s", sealed, want)
	}
	if bare, err := OpenLine(sealed); err != nil || string(bare) != `{"a":1}` {
		t.Errorf("%s, %v", bare, err)
	}
	for i := range sealed {
		changed := append([]byte(nil), sealed...)
		changed[i] ^= 1
		if _, err := OpenLine(changed); err == nil {
			t.Errorf("%s is taken", changed)
		}
	}
	for _, text := range []string{"", "{}", `{"a":1}`, `{"seal":"015abd7f5cc57a2dd94b7590f04ad808"}`} {
		if _, err := OpenLine([]byte(text)); !errors.Is(err, ErrUnsealed) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestSums: what was sealed is taken, what was changed or never sealed is refused, and the
// file is one that sha256sum reads.
func TestSums(t *testing.T) {
	dir := t.TempDir()
	s := must.Get(ReadSums(dir))(t)
	must.Do(t, s.Add(map[string][]byte{"b/two": []byte("2\n"), "one": []byte("1\n")}))
	const one, two = "4355a46b19d348dc2f57c046f8ef63d4538ebb936000f3c9ee954a27460dd865", "53c234e5e8472b6ac51c1ae1cab3fe06fad053beb8ebfd8977b010655bfdd3c3"
	text, err := os.ReadFile(filepath.Join(dir, SumsFile))
	if want := two + "  b/two\n" + one + "  one\n"; err != nil || string(text) != want {
		t.Fatalf("%s (%v), want %s", text, err, want)
	}
	s = must.Get(ReadSums(dir))(t)
	if err := s.Check("one", []byte("1\n"), ""); err != nil {
		t.Errorf("%v", err)
	}
	for name, want := range map[string]string{"one": "not as it was written", "three": "no seal"} {
		if err := s.Check(name, []byte("3\n"), "delete it"); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "delete it") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, line := range []string{"x", one + " one", one + "  ../one"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, SumsFile), []byte(line+"\n"), 0o644))
		if _, err := ReadSums(dir); err == nil {
			t.Errorf("%q is taken", line)
		}
	}
}
