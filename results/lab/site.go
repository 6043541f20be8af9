package lab

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/ascii85"
	"encoding/base64"
	"encoding/hex"
	"html/template"
	"strings"

	"driftlab/results"
	"driftlab/results/published"
)

//go:embed page
var sources embed.FS

// Program is what the pages compute with, as WebAssembly.
type Program struct {
	// Gzip is the module of the lessons, cmd/simulate/lab, and Diagnose that of the page for dumps,
	// cmd/simulate/lab/diagnose, compressed.
	Gzip, Diagnose []byte
	// Support is wasm_exec.js of the toolchain that built it.
	Support []byte
}

// File is one file of the site.
type File struct {
	Name string
	Data []byte
}

// HomePage is the lab's page where it stands alone, SitePage where it is one of the site, whose navigation stands above it.
const (
	HomePage = "index.html"
	SitePage = "lab.html"
)

// Site is the page as files for any static host: home, one of HomePage and SitePage, which has everything but the
// program, also the page of corrections, and the program next to it. Opened from a disk they
// work as well, since a page may run the scripts next to it even there: so the program is a
// script, its bytes in Ascii85.
func Site(p Program, which results.Part, home string) []File {
	text := quotable(p.Gzip)
	sum := sha256.Sum256([]byte(text))
	name := "program-" + hex.EncodeToString(sum[:6]) + ".js"
	return []File{
		{home, index(p, which, home, name, "", len(text))},
		{name, []byte("driftlabProgram(\"" + text + "\");\n")},
		{DiagnosePage, Diagnose(p, home)},
	}
}

// OneFile is the page with the program in it.
func OneFile(p Program, which results.Part) []byte {
	text := quotable(p.Gzip)
	return index(p, which, "", "", `"`+text+`"`, len(text))
}

// navigation is the site's above a page; empty where home is not the page of the site.
func navigation(home, page string) template.HTML {
	if home != SitePage {
		return ""
	}
	return results.SiteNav(page)
}

// index fills the page in. The browser gets the sum of each script and style, and runs
// no other.
func index(p Program, which results.Part, home, file, wasm string, size int) []byte {
	paper := results.SharedPaper()
	style := lean(paper.Style + "\n" + source("lab.css") + "\n" + which.Style)
	script := paper.Library + "\n" + paper.Script + "\n" + which.Script
	for _, name := range []string{"panels.js", "guess.js", "engine.js", "lab.js"} {
		script += "\n" + source(name)
	}
	all := lean(script)
	scripts, connect := sums(paper.Early, all)+" 'wasm-unsafe-eval'", "'none'"
	if file != "" {
		scripts, connect = scripts+" 'self'", "'self'"
	}
	return filled(page, map[string]any{
		"Policy": policyOf(scripts, style, connect), "Nav": navigation(home, SitePage), "Style": template.CSS(style), "Early": template.JS(paper.Early), "Script": template.JS(all), "Licence": paper.Licence,
		"Lab": template.HTML(base64.StdEncoding.EncodeToString(packedDocument)), "Which": template.HTML(base64.StdEncoding.EncodeToString(published.Gzip([]byte(which.HTML)))),
		"Worker": template.HTML(inScript(lean(string(p.Support) + "\n" + source("worker.js")))),
		"File":   file, "Sheets": file != "", "Bytes": size, "Program": template.HTML(wasm), // sheets stand next to the page
	})
}

// filled is a page with what stands in it.
func filled(t *template.Template, data any) []byte {
	var out bytes.Buffer
	if err := t.Execute(&out, data); err != nil {
		panic("lab: " + err.Error()) // writing to memory cannot fail
	}
	return out.Bytes()
}

// policyOf is what the browser allows a page: its own scripts and style, a worker, and requests to connect or none.
func policyOf(scripts, style, connect string) template.HTMLAttr {
	return template.HTMLAttr(`content="` + "default-src 'none'; script-src " + scripts + "; style-src " + sums(style) + "; worker-src blob:; connect-src " + connect +
		"; img-src data:; base-uri 'none'; form-action 'none'" + `"`)
}

// page is the page without what stands in it.
var page = template.Must(template.New("").Parse(source("index.html")))

// source is a file of the page.
func source(name string) string {
	text, err := sources.ReadFile("page/" + name)
	if err != nil {
		panic("lab: " + err.Error()) // it is embedded
	}
	return string(text)
}

// quotable is a text of Ascii85 that a script and an element can have between quotes: four bytes are five characters,
// where base64 has five and a third. Instead of ", \ and < it has v, w and x, and no z for four zeros.
func quotable(raw []byte) string {
	text := make([]byte, ascii85.MaxEncodedLen(len(raw)))
	text = text[:ascii85.Encode(text, raw)]
	return strings.NewReplacer(`"`, "v", `\`, "w", "<", "x", "z", "!!!!!").Replace(string(text))
}

// lean is a script or a style without its indentation and the lines that are a // comment.
func lean(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimLeft(line, " \t"); line != "\n" && !strings.HasPrefix(line, "//") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// inScript keeps a text from ending the element that it stands in.
func inScript(text string) string { return strings.ReplaceAll(text, "</", `<\/`) }

// sums are the words by which a policy allows these texts.
func sums(texts ...string) string {
	var words []string
	for _, text := range texts {
		sum := sha256.Sum256([]byte(text))
		words = append(words, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	return strings.Join(words, " ")
}
