package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"time"
)

// epoch is the time of every file in an archive: the oldest that zip can hold.
var epoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// file is one file of an archive.
type file struct {
	name       string
	data       []byte
	executable bool
}

// mode are the permissions of a file.
func (f file) mode() int64 {
	if f.executable {
		return 0o755
	}
	return 0o644
}

// wheel is a Python wheel (binary distribution format 1.0) whose only content is the program, among the
// scripts: pip copies it into the environment's bin folder as it is. It has no Python code.
func (r *release) wheel(p platform, binary []byte) ([]byte, error) {
	info := fmt.Sprintf("driftlab-%s.dist-info/", r.version)
	metadata := fmt.Sprintf("Metadata-Version: 2.4\nName: driftlab\nVersion: %s\nSummary: %s\nLicense-Expression: Apache-2.0\nLicense-File: LICENSE\nRequires-Python: >=3\n", r.version, description)
	var tags strings.Builder
	for _, python := range strings.Split(p.python, ".") {
		fmt.Fprintf(&tags, "Tag: py3-none-%s\n", python)
	}
	files := []file{
		{fmt.Sprintf("driftlab-%s.data/scripts/simulate%s", r.version, p.suffix()), binary, true},
		{info + "licenses/LICENSE", r.license, false},
		{info + "METADATA", []byte(metadata), false},
		{info + "WHEEL", []byte("Wheel-Version: 1.0\nGenerator: driftlab\nRoot-Is-Purelib: false\n" + tags.String()), false},
	}
	var record strings.Builder
	for _, f := range files {
		sum := sha256.Sum256(f.data)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.data))
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	return zipped(append(files, file{info + "RECORD", []byte(record.String()), false}))
}

// zipped is a zip archive of the files in their order.
func zipped(files []file) ([]byte, error) {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, f := range files {
		// The mode with S_IFREG, in the upper half, as a zip made under Unix has it.
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: epoch, CreatorVersion: 3 << 8, ExternalAttrs: uint32(0o100000|f.mode()) << 16}
		part, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := part.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return buf.Bytes(), err
}
