// Command release builds the program for some systems and packs each binary as a Python wheel and as an npm
// package, with a list of the modules in it (CycloneDX) and checksums. Equal sources give equal bytes: archives
// have one time, one owner and one order of files.
//
//	go run ./.ci/release -out DIR [-tags lab] [-targets linux/amd64,darwin/arm64]
//	go run ./.ci/release -sbom BINARY FILE
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// description is what the indexes of packages show.
const description = "A laboratory for training-inference mismatch in the reinforcement learning of language models"

// release is what all packages of a version share.
type release struct {
	version string
	license []byte
	out     string
	written []string // names in out
}

func main() {
	out := flag.String("out", "", "folder to write to")
	tags := flag.String("tags", "", "build tags; lab embeds the lab's page, which `simulate lab --program cmd/simulate/program` writes before")
	list := flag.String("targets", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64", "systems")
	sbom := flag.Bool("sbom", false, "write the list of the modules of a binary, and nothing else")
	flag.Parse()
	var err error
	switch {
	case *sbom && flag.NArg() == 2:
		err = writeSBOM(flag.Arg(0), flag.Arg(1))
	case *out != "" && !*sbom && flag.NArg() == 0:
		err = build(*out, *tags, strings.Split(*list, ","))
	default:
		flag.Usage()
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// build makes all files of a release in a folder, from the sources around the working folder.
func build(out, tags string, targets []string) error {
	citation, err := os.ReadFile("CITATION.cff")
	if err != nil {
		return fmt.Errorf("run it at the top of a clone: %w", err)
	}
	found := regexp.MustCompile(`(?m)^version: (\d+\.\d+\.\d+)$`).FindSubmatch(citation)
	if found == nil {
		return fmt.Errorf("CITATION.cff has no version")
	}
	r := &release{version: string(found[1]), out: out}
	if r.license, err = os.ReadFile("LICENSE"); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	var all []platform
	for _, target := range targets {
		i := slices.IndexFunc(platforms, func(p platform) bool { return p.target() == target })
		if i < 0 {
			return fmt.Errorf("-targets: %q is not a system that is released", target)
		}
		all = append(all, platforms[i])
		if err := r.platform(platforms[i], tags); err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
	}
	if err := r.write(fmt.Sprintf("driftlab-%s.tgz", r.version), r.npmLauncher(all)); err != nil {
		return err
	}
	return r.checksums()
}

// platform builds the binary of a system and packs it.
func (r *release) platform(p platform, tags string) error {
	name := fmt.Sprintf("simulate-%s-%s-%s%s", r.version, p.goos, p.goarch, p.suffix())
	path := filepath.Join(r.out, name)
	command := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-tags="+tags, "-o", path, "./cmd/simulate")
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.goos, "GOARCH="+p.goarch)
	command.Stderr = os.Stderr
	if err := command.Run(); err != nil {
		return err
	}
	binary, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	r.written = append(r.written, name)
	modules := fmt.Sprintf("simulate-%s-%s-%s.cdx.json", r.version, p.goos, p.goarch)
	if err := writeSBOM(path, filepath.Join(r.out, modules)); err != nil {
		return err
	}
	r.written = append(r.written, modules)
	wheel, err := r.wheel(p, binary)
	if err != nil {
		return err
	}
	if err := r.write(fmt.Sprintf("driftlab-%s-%s.whl", r.version, p.wheelTag()), wheel); err != nil {
		return err
	}
	return r.write(fmt.Sprintf("%s-%s.tgz", p.npmName(), r.version), r.npm(p, binary))
}

// write writes a file of the release.
func (r *release) write(name string, data []byte) error {
	r.written = append(r.written, name)
	return os.WriteFile(filepath.Join(r.out, name), data, 0o644)
}

// checksums writes SHA256SUMS, as sha256sum -c reads it.
func (r *release) checksums() error {
	slices.Sort(r.written)
	var lines strings.Builder
	for _, name := range r.written {
		data, err := os.ReadFile(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(data), name)
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(lines.String()), 0o644)
}
