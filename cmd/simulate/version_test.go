package main

import (
	"runtime/debug"
	"testing"
)

// TestVersion: what is known of a build is said, and what is not known is not
// made up.
func TestVersion(t *testing.T) {
	info := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Path: "driftlab", Version: version},
			Settings: append(settings, debug.BuildSetting{Key: "GOOS", Value: "linux"}, debug.BuildSetting{Key: "GOARCH", Value: "arm64"})}
	}
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "0d58f56"}
	for _, c := range []struct {
		info *debug.BuildInfo
		want string
	}{
		{info("(devel)"), "driftlab, commit not recorded, go1.26.0 linux/arm64"},
		{info("v1.2.0", commit), "driftlab v1.2.0, commit 0d58f56, go1.26.0 linux/arm64"},
		{info("", commit, debug.BuildSetting{Key: "vcs.modified", Value: "true"}), "driftlab, commit 0d58f56 with changes, go1.26.0 linux/arm64"},
	} {
		if got := versionOf(c.info); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
