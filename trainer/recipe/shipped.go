package recipe

import (
	"embed"
	"path"
	"slices"
	"strings"
)

// files are the recipes inside the binary.
//
//go:embed shipped/*.yaml
var files embed.FS

// Names lists the shipped recipes in alphabetical order.
func Names() []string {
	entries, err := files.ReadDir("shipped")
	if err != nil {
		panic("recipe: " + err.Error())
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".yaml")
	}
	slices.Sort(names) // the files have them with the suffix, after which fp8-rl-stale comes before fp8-rl
	return names
}

// Description is the first line of a shipped recipe, a comment that says what
// it is for; empty for an unknown name.
func Description(name string) string {
	text, _ := shippedText(name)
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(strings.TrimPrefix(line, "#"))
}

func shippedText(name string) ([]byte, bool) {
	if strings.ContainsAny(name, `/\`) {
		return nil, false
	}
	text, err := files.ReadFile(path.Join("shipped", name+".yaml"))
	return text, err == nil
}
