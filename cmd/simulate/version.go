package main

import (
	"fmt"
	"runtime/debug"
)

// release is the version of the source, as CHANGELOG.md has it (semver.org); STABILITY.md says what it promises.
const release = "1.0.0"

// version names the build: release, commit, Go.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "driftlab " + release + ", built without version information"
	}
	return versionOf(info)
}

// versionOf is the version by the source and by what the linker recorded. A release has the number of its source; what
// was built from a commit between two releases has that of the older one, and differs in the commit.
func versionOf(info *debug.BuildInfo) string {
	setting := map[string]string{}
	for _, s := range info.Settings {
		setting[s.Key] = s.Value
	}
	commit, module := setting["vcs.revision"], info.Main.Version
	switch {
	case commit == "" && module != "" && module != "(devel)":
		commit = "commit not recorded, module version " + module // as `go install` of a version builds it
	case commit == "":
		commit = "commit not recorded (`go run`, -buildvcs=false, or no clone: build with `go build` in a clone)"
	case setting["vcs.modified"] == "true":
		commit = "commit " + commit + " with changes"
	default:
		commit = "commit " + commit
	}
	return fmt.Sprintf("driftlab %s, %s, %s %s/%s", release, commit, info.GoVersion, setting["GOOS"], setting["GOARCH"])
}
