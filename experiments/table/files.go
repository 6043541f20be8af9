package table

import (
	"embed"
	"path"
	"strings"
)

// sweeps are the files of the stages, for `simulate sweep NAME`.
//
//go:embed sweeps/*.yaml
var sweeps embed.FS

// Names lists them without their folder and suffix, in alphabetical order.
func Names() []string {
	entries, err := sweeps.ReadDir("sweeps")
	if err != nil {
		panic("table: " + err.Error())
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// Text is the file of that name; ok is false if there is none.
func Text(name string) (text []byte, ok bool) {
	if strings.ContainsAny(name, `/\`) {
		return nil, false
	}
	text, err := sweeps.ReadFile(path.Join("sweeps", name+".yaml"))
	return text, err == nil
}
