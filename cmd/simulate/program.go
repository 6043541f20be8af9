package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// programName is how to start this program again as it was started: messages name commands to be typed.
var programName = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	found, err := exec.LookPath(filepath.Base(os.Args[0]))
	own, _ := os.Stat(path)
	other, _ := os.Stat(found)
	inPath := err == nil && own != nil && other != nil && os.SameFile(own, other)
	_, err = os.Stat("cmd/simulate/main.go")
	return nameOf(os.Args[0], path, inPath, err == nil)
})

// nameOf is programName of a program that was called by a name, whose file has a path, which the shell finds by its base
// name or not, in the root of a clone or not. `go run` makes its file in a temporary folder go-build.../b001/exe.
func nameOf(called, path string, inPath, root bool) string {
	switch folder := filepath.Dir(path); {
	case filepath.Base(folder) == "exe" && strings.Contains(folder, "go-build") && root:
		return "go run ./cmd/simulate"
	case filepath.Base(folder) == "exe" && strings.Contains(folder, "go-build"):
		return "go run driftlab/cmd/simulate"
	case inPath:
		return filepath.Base(called)
	}
	return called
}

// commandInText is a command of this program in a text: its name, followed by a command or a flag, or alone on a line that is set in.
var commandInText = regexp.MustCompile(`(?m)(\A|[^\w./-])simulate( (?:--[a-z]|(?:headline|measure|train|compare|sweep|study|reproduce|evaluate|schedule|diagnose|watch|lab|pretrain|site|lesson|methods|checkpoint|report|bench|new|help|completion)\b))|(^ +)simulate$`)

// typable is a text whose commands are written as the program was started.
func typable(text, program string) string {
	if program == "simulate" || !strings.Contains(text, "simulate") {
		return text
	}
	return commandInText.ReplaceAllString(text, "${1}${3}"+strings.ReplaceAll(program, "$", "$$")+"${2}")
}
