// Package scaffold writes a new loss into a clone of the source: its file, ready
// to be changed, and its line in the registry.
//
// What it is not: it decides nothing about a loss. The file it writes is the one
// trainer/method/README.md explains, under another name; it compiles, and passes the tests that
// go through the registry, until its author has other ideas.
package scaffold

import (
	"cmp"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The loss of trainer/method/README.md: tanh_pg, TanhPG, tanhPGSpec.
//
//go:embed loss.go.tmpl
var template string

// folder is where losses stand, from the root of a clone.
const folder = "trainer/method/loss"

// File is a file of a clone and its new text.
type File struct{ Path, Text string }

// Root finds the clone that a folder is in.
func Root(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		text, err := os.ReadFile(filepath.Join(at, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module driftlab\n") {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%s: not in a clone of the source: no go.mod of the module driftlab here or above; clone the repository and run this inside", dir)
		}
	}
}

// Loss returns what a new loss of that name changes in the clone at root: its
// file, then the registry.
func Loss(root, name string) ([]File, error) {
	if !regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`).MatchString(name) {
		return nil, fmt.Errorf("%q: the name of a loss is small letters and digits, in words joined by _, such as tanh_pg", name)
	}
	file, dir := name+".go", filepath.Join(root, filepath.FromSlash(folder))
	if words := strings.Split(name, "_"); len(words) > 1 && special(words[len(words)-1]) {
		return nil, fmt.Errorf("%q: Go gives the file name %s a meaning of its own (a test, or one platform alone): choose another name", name, file)
	}
	pack, err := read(dir)
	if err != nil {
		return nil, err
	}
	typeName := goName(name)
	text := strings.NewReplacer("tanh_pg", name, "TanhPG", typeName, "tanhPG", unexported(typeName)).Replace(template)
	for _, declared := range []string{typeName, unexported(typeName) + "Spec"} {
		if at, ok := pack.declared[declared]; ok {
			return nil, fmt.Errorf("%q: %s declares %s already: choose another name", name, at, declared)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, file)); err == nil {
		return nil, fmt.Errorf("%q: %s/%s is there already: choose another name", name, folder, file)
	}
	registry, err := pack.withLine(name, line(name))
	if err != nil {
		return nil, err
	}
	return []File{{folder + "/" + file, text}, {folder + "/" + registryFile, registry}}, nil
}

// line is a loss's line in the registry.
func line(name string) string {
	typeName := goName(name)
	return fmt.Sprintf("\t{Spec: %sSpec, New: func() Loss { return method.New[%s]() }},\n", unexported(typeName), typeName)
}

// platforms are the systems and processors after which Go builds a file for these alone: the lists of internal/syslist.
const platforms = "aix android darwin dragonfly freebsd hurd illumos ios js linux nacl netbsd openbsd plan9 solaris wasip1 windows zos " +
	"386 amd64 amd64p32 arm armbe arm64 arm64be loong64 mips mipsle mips64 mips64le mips64p32 mips64p32le ppc ppc64 ppc64le riscv riscv64 s390 s390x sparc sparc64 wasm"

// special reports whether Go gives a file whose name ends in that word, after another, a meaning of its own.
func special(word string) bool {
	return word == "test" || slices.Contains(strings.Fields(platforms), word)
}

// goName is a name as an exported Go identifier: tanh_pg is TanhPG.
func goName(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "_") {
		switch {
		case slices.Contains([]string{"is", "kl", "pg", "rl", "tis", "tv"}, word), strings.HasSuffix(word, "po") && len(word) <= 5:
			b.WriteString(strings.ToUpper(word))
		default:
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

// unexported is the identifier with its first letter, or its first initials, in
// lower case: tanhPG of TanhPG, gspoToken of GSPOToken.
func unexported(name string) string {
	n := 1
	for n < len(name) && !isLower(name[n]) && (n+1 == len(name) || !isLower(name[n+1])) {
		n++
	}
	return strings.ToLower(name[:n]) + name[n:]
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }

// registryFile holds the table of losses.
const registryFile = "registry.go"

// source is the package of the losses as text.
type source struct {
	declared map[string]string // file by top-level identifier
	names    map[string]string // the recipe's name by the identifier of its Spec
	registry string
}

var (
	declaration = regexp.MustCompile(`(?m)^(?:func|type|var|const) (\w+)`)
	specName    = regexp.MustCompile(`(?m)^var (\w+) = method\.Spec\{\s*Name:\s*"([^"]+)"`)
	tableLine   = regexp.MustCompile(`(?m)^\t\{Spec: (?:method\.Spec\{Name: "(\w+)"\}|(\w+)), New: func\(\) Loss .*\n`)
)

// read reads the package in a folder.
func read(dir string) (*source, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("%s: no losses there", dir)
	}
	s := &source{declared: map[string]string{}, names: map[string]string{}}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		for _, m := range declaration.FindAllStringSubmatch(string(text), -1) {
			s.declared[m[1]] = filepath.Base(path)
		}
		for _, m := range specName.FindAllStringSubmatch(string(text), -1) {
			s.names[m[1]] = m[2]
		}
		if filepath.Base(path) == registryFile {
			s.registry = string(text)
		}
	}
	if !tableLine.MatchString(s.registry) {
		return nil, fmt.Errorf("%s: %s has no table of losses", dir, registryFile)
	}
	return s, nil
}

// withLine is the registry with one more line, in the order of the names.
func (s *source) withLine(name, line string) (string, error) {
	at := tableLine.FindStringIndex(s.registry)[0]
	for _, m := range tableLine.FindAllStringSubmatchIndex(s.registry, -1) {
		known := s.names[string(tableLine.ExpandString(nil, "$2", s.registry, m))]
		switch known = cmp.Or(string(tableLine.ExpandString(nil, "$1", s.registry, m)), known); {
		case known == name:
			return "", fmt.Errorf("%q: there is a loss of that name: choose another one", name)
		case known < name:
			at = m[1]
		}
	}
	return s.registry[:at] + line + s.registry[at:], nil
}
