package main

import (
	"fmt"
	"runtime/debug"
)

// version names the build: module, commit, Go.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "driftlab, built without a record of its sources"
	}
	return versionOf(info)
}

// versionOf is the version by what the linker recorded. `go run` and builds
// outside a clone record no commit.
func versionOf(info *debug.BuildInfo) string {
	setting := map[string]string{}
	for _, s := range info.Settings {
		setting[s.Key] = s.Value
	}
	commit := setting["vcs.revision"]
	switch {
	case commit == "":
		commit = "commit not recorded"
	case setting["vcs.modified"] == "true":
		commit = "commit " + commit + " with changes"
	default:
		commit = "commit " + commit
	}
	module := info.Main.Path
	if v := info.Main.Version; v != "" && v != "(devel)" {
		module += " " + v
	}
	return fmt.Sprintf("%s, %s, %s %s/%s", module, commit, info.GoVersion, setting["GOOS"], setting["GOARCH"])
}
