package record_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"driftlab/results/record"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"
)

// Every byte of packed lines comes back, whatever their keys, numbers and strings.
func TestPackedLinesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var text []byte
		for range rapid.IntRange(0, 8).Draw(t, "lines") {
			line, err := json.Marshal(map[string]any{
				rapid.String().Draw(t, "key"): rapid.SliceOf(rapid.Float64Range(-1e300, 1e300)).Draw(t, "list"),
				"text":                        rapid.String().Draw(t, "string"), "none": nil, "deep": []any{map[string]any{"text": rapid.Int().Draw(t, "n")}},
			})
			if err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "sealed") {
				line = record.SealLine(line)
			}
			text = append(append(text, line...), '\n')
		}
		packed, err := record.PackLines(text)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := record.UnpackLines(packed); err != nil || !bytes.Equal(back, text) {
			t.Fatalf("%q came back as %q (%v)", text, back, err)
		}
	})
}

// A seal is not stored where it is that of its line, and stored where it is not.
func TestPackedSeals(t *testing.T) {
	line := record.SealLine([]byte(`{"run":"a","mean":0.25}`))
	wrong := bytes.Replace(line, []byte("0.25"), []byte("0.26"), 1)
	for _, text := range [][]byte{line, wrong} {
		text = append(bytes.Clone(text), '\n')
		packed, err := record.PackLines(text)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := record.UnpackLines(packed); err != nil || !bytes.Equal(back, text) {
			t.Errorf("%s came back as %s (%v)", text, back, err)
		}
	}
}

// A frame of zstd by any encoder is read: the published ones are of a higher level.
func TestPackedByAnotherEncoder(t *testing.T) {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		t.Fatal(err)
	}
	// One line, one form, the form of the line, its column of "run" and that of "mean".
	packed := w.EncodeAll([]byte("1\n1\n{\"run\":\x00,\"mean\":\x00}\n0\n\"a\"\n0.25\n"), nil)
	if back, err := record.UnpackLines(packed); err != nil || string(back) != `{"run":"a","mean":0.25}`+"\n" {
		t.Errorf("it came back as %s (%v)", back, err)
	}
}

// What is no line of JSON comes back too; a torn line and a damaged file are refused.
func TestPackedLinesOddAndDamaged(t *testing.T) {
	for _, text := range []string{"", "\n", "plain words, and more\n\n", "{\"a\": [1, \"b\\\"c\", \x00]}\r\n", "\"open\\\n", "]]\n"} {
		packed, err := record.PackLines([]byte(text))
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if back, err := record.UnpackLines(packed); err != nil || string(back) != text {
			t.Errorf("%q came back as %q (%v)", text, back, err)
		}
		for at := range packed {
			damaged := bytes.Clone(packed)
			damaged[at] ^= 1
			if back, err := record.UnpackLines(damaged); err == nil && string(back) != text {
				t.Errorf("%q: byte %d damaged gives %q", text, at, back)
			}
		}
	}
	if _, err := record.PackLines([]byte("{}\n{")); err == nil {
		t.Error("a torn line was packed")
	}
}

// Packed files have their names and bytes; one that is written next to them goes before.
func TestPackFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pack := func(want int) map[string][]byte {
		if n, err := record.PackFiles(dir, "seed-*.json"); err != nil || n != want {
			t.Fatalf("%d files packed, want %d (%v)", n, want, err)
		}
		files, err := record.ReadPackedFiles(os.DirFS(dir), ".")
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	write("seed-1.json", "[{\"values\":[0.1,1e-7]}]\n")
	write("seed-2.json", "[{\"values\":[2]}]\n")
	pack(2)
	write("seed-2.json", "[{\"values\":[3]}]\n")
	if files := pack(1); string(files["seed-1.json"]) != "[{\"values\":[0.1,1e-7]}]\n" || string(files["seed-2.json"]) != "[{\"values\":[3]}]\n" {
		t.Errorf("packed are %q", files)
	}
	write("seed-3.json", "{\n}\n")
	if _, err := record.PackFiles(dir, "seed-*.json"); err == nil {
		t.Error("a file of two lines was packed")
	}
	if n, err := record.UnpackFiles(dir); err != nil || n != 2 {
		t.Errorf("%d files unpacked (%v)", n, err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "seed-2.json")); err != nil || string(text) != "[{\"values\":[3]}]\n" {
		t.Errorf("unpacked is %q (%v)", text, err)
	}
}
