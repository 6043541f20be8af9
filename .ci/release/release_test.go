package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
)

var sample = &release{version: "1.2.3", license: []byte("the licence\n")}

// TestWheel reads a wheel back: RECORD has the size and sum of every other file, the program can be
// executed, and the same program gives the same bytes.
func TestWheel(t *testing.T) {
	binary := bytes.Repeat([]byte("program"), 1000)
	wheel, err := sample.wheel(platforms[0], binary)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := sample.wheel(platforms[0], binary); !bytes.Equal(wheel, again) {
		t.Error("two wheels of one program differ")
	}
	r, err := zip.NewReader(bytes.NewReader(wheel), int64(len(wheel)))
	if err != nil {
		t.Fatal(err)
	}
	var want, record string
	for _, f := range r.File {
		part, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(part)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(f.Name, "/RECORD") {
			record, want = string(data), want+f.Name+",,\n"
			continue
		}
		sum := sha256.Sum256(data)
		want += fmt.Sprintf("%s,sha256=%s,%d\n", f.Name, strings.TrimRight(base64.URLEncoding.EncodeToString(sum[:]), "="), len(data))
		if program := f.Name == "driftlab-1.2.3.data/scripts/simulate"; program != (f.Mode() == 0o755) || program && !bytes.Equal(data, binary) {
			t.Errorf("%s has mode %v and %d bytes", f.Name, f.Mode(), len(data))
		}
	}
	if record != want || len(r.File) != 5 {
		t.Errorf("RECORD is\n%swant\n%s", record, want)
	}
}

// TestNPM reads the two npm packages back.
func TestNPM(t *testing.T) {
	read := func(tarball []byte) (m manifest, modes map[string]int64) {
		z, err := gzip.NewReader(bytes.NewReader(tarball))
		if err != nil {
			t.Fatal(err)
		}
		modes = map[string]int64{}
		for r := tar.NewReader(z); ; {
			h, err := r.Next()
			if err == io.EOF {
				return m, modes
			}
			if err != nil {
				t.Fatal(err)
			}
			modes[h.Name] = h.Mode
			if h.Name == "package/package.json" {
				if err := json.NewDecoder(r).Decode(&m); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	m, modes := read(sample.npm(platforms[4], []byte("program")))
	if m.Name != "driftlab-win32-x64" || m.OS[0] != "win32" || m.CPU[0] != "x64" || modes["package/bin/simulate.exe"] != 0o755 {
		t.Errorf("%+v %v", m, modes)
	}
	m, modes = read(sample.npmLauncher(platforms))
	if m.Name != "driftlab" || len(m.Optional) != 6 || m.Optional["driftlab-win32-x64"] != "1.2.3" || modes["package/"+m.Bin["simulate"]] != 0o755 {
		t.Errorf("%+v %v", m, modes)
	}
}
