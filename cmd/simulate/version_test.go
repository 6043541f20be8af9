package main

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"testing"

	"driftlab/precision/must"
)

// TestVersion: what is known of a build is said, and what is not known is not
// made up.
func TestVersion(t *testing.T) {
	info := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Path: "driftlab", Version: version},
			Settings: append(settings, debug.BuildSetting{Key: "GOOS", Value: "linux"}, debug.BuildSetting{Key: "GOARCH", Value: "arm64"})}
	}
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "0d58f56"}
	name := "driftlab " + release
	for _, c := range []struct {
		info *debug.BuildInfo
		want string
	}{
		{info("(devel)"), name + ", commit not recorded (`go run`, -buildvcs=false, or no clone: build with `go build` in a clone), go1.26.0 linux/arm64"},
		{info("v1.2.0"), name + ", commit not recorded, module version v1.2.0, go1.26.0 linux/arm64"},
		{info("v0.0.0-20261125182005-0d58f56", commit), name + ", commit 0d58f56, go1.26.0 linux/arm64"},
		{info("", commit, debug.BuildSetting{Key: "vcs.modified", Value: "true"}), name + ", commit 0d58f56 with changes, go1.26.0 linux/arm64"},
	} {
		if got := versionOf(c.info); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestOneVersion: the change log's newest release, the citation and the published verdicts are of the version that the program prints.
func TestOneVersion(t *testing.T) {
	for file, pattern := range map[string]string{
		"CHANGELOG.md":                `(?m)^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d{2}-\d{2}$`,
		"CITATION.cff":                `(?m)^version: (\S+)$`,
		"results/published/README.md": `Version (\d+\.\d+\.\d+) made the verdicts`,
	} {
		text := must.Get(os.ReadFile(filepath.Join("..", "..", file)))(t)
		found := regexp.MustCompile(pattern).FindSubmatch(text)
		if found == nil || string(found[1]) != release {
			t.Errorf("%s is of version %q, the program of %s", file, found, release)
		}
	}
}
