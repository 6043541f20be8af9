// Package studies holds the experiments that are published as data: the main job, the stability map, a quick comparison of
// methods, and the claims of papers.
package studies

import (
	"embed"
	"io/fs"
	"path"
	"strings"
)

// Claims are claims/order.yaml, the themes and claims in their order, and a file
// claims/THEME/ID.yaml for each claim.
//
//go:embed claims
var Claims embed.FS

// plans are the plans of training runs.
//
//go:embed *.yaml stability
var plans embed.FS

// Names lists the plans of training runs, without their suffix, in alphabetical order: headline, stability/gap.
func Names() (names []string) {
	err := fs.WalkDir(plans, ".", func(name string, _ fs.DirEntry, err error) error {
		if plan, ok := strings.CutSuffix(name, ".yaml"); ok {
			names = append(names, plan)
		}
		return err
	})
	if err != nil {
		panic("studies: " + err.Error()) // the files are in the program
	}
	return names
}

// Plan is the text of the plan of that name; ok is false if there is none.
func Plan(name string) (text []byte, ok bool) {
	text, err := plans.ReadFile(path.Clean(name) + ".yaml")
	return text, err == nil
}
