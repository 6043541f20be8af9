package main

// platform is a system that is released, with its names in Go, Python and npm.
type platform struct {
	goos, goarch  string
	python        string // of a wheel's tag
	npmOS, npmCPU string
}

// The Linux binaries are static: they start under glibc and musl. Go 1.26 needs macOS 12.
var platforms = []platform{
	{"linux", "amd64", "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64", "linux", "x64"},
	{"linux", "arm64", "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64", "linux", "arm64"},
	{"darwin", "amd64", "macosx_12_0_x86_64", "darwin", "x64"},
	{"darwin", "arm64", "macosx_12_0_arm64", "darwin", "arm64"},
	{"windows", "amd64", "win_amd64", "win32", "x64"},
	{"windows", "arm64", "win_arm64", "win32", "arm64"},
}

func (p platform) target() string   { return p.goos + "/" + p.goarch }
func (p platform) wheelTag() string { return "py3-none-" + p.python }
func (p platform) npmName() string  { return "driftlab-" + p.npmOS + "-" + p.npmCPU }

// suffix is what ends the name of a program there.
func (p platform) suffix() string {
	if p.goos == "windows" {
		return ".exe"
	}
	return ""
}
