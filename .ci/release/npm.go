package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
)

// manifest is a package.json.
type manifest struct {
	Name        string            `json:"name"`
	Version     string            `json:"version"`
	Description string            `json:"description"`
	License     string            `json:"license"`
	OS          []string          `json:"os,omitempty"`
	CPU         []string          `json:"cpu,omitempty"`
	Bin         map[string]string `json:"bin,omitempty"`
	Optional    map[string]string `json:"optionalDependencies,omitempty"`
}

// launcher starts the program of the package for this system, with its arguments and its exit status.
const launcher = `#!/usr/bin/env node
'use strict';
const { spawnSync } = require('node:child_process');
const name = 'driftlab-' + process.platform + '-' + process.arch;
let program;
try {
  program = require.resolve(name + '/bin/simulate' + (process.platform === 'win32' ? '.exe' : ''));
} catch {
  console.error('simulate: the package ' + name + ' is not installed: install it, or build simulate from source');
  process.exit(2);
}
const { error, signal, status } = spawnSync(program, process.argv.slice(2), { stdio: 'inherit' });
if (error) {
  console.error('simulate: ' + error.message);
  process.exit(1);
}
if (signal) process.kill(process.pid, signal);
process.exit(status ?? 1);
`

// npm is the npm package that holds the program of one system.
func (r *release) npm(p platform, binary []byte) []byte {
	m := manifest{Name: p.npmName(), Version: r.version, Description: description + " (" + p.target() + ")", License: "Apache-2.0", OS: []string{p.npmOS}, CPU: []string{p.npmCPU}}
	return r.tarball(m, file{"bin/simulate" + p.suffix(), binary, true})
}

// npmLauncher is the npm package that people install: npm chooses the package of their system.
func (r *release) npmLauncher(all []platform) []byte {
	m := manifest{Name: "driftlab", Version: r.version, Description: description, License: "Apache-2.0",
		Bin: map[string]string{"simulate": "bin/simulate.js", "driftlab": "bin/simulate.js"}, Optional: map[string]string{}}
	for _, p := range all {
		m.Optional[p.npmName()] = r.version
	}
	return r.tarball(m, file{"bin/simulate.js", []byte(launcher), true})
}

// tarball is the archive that `npm pack` would write of a manifest, the licence and a file.
func (r *release) tarball(m manifest, content file) []byte {
	text, err := json.MarshalIndent(m, "", "  ") // maps in the order of their keys
	if err != nil {
		panic(fmt.Sprint("release: ", err)) // texts and maps of texts
	}
	var buf bytes.Buffer
	zip := gzip.NewWriter(&buf)
	w := tar.NewWriter(zip)
	for _, f := range []file{{"package.json", append(text, '\n'), false}, {"LICENSE", r.license, false}, content} {
		// Writing into memory does not fail.
		_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "package/" + f.name, Mode: f.mode(), Size: int64(len(f.data)), ModTime: epoch})
		_, _ = w.Write(f.data)
	}
	_ = w.Close()
	_ = zip.Close()
	return buf.Bytes()
}
