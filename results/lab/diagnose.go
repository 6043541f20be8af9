package lab

import (
	"bytes"
	"html/template"

	"driftlab/results"
)

// DiagnosePage is the name of Diagnose's page in the site.
const DiagnosePage = "diagnose.html"

// Diagnose is the page that diagnoses dumps of real runs, with its program in it: one file that opens from a disk, too. The
// browser allows it no request at all. home says that the lab's page stands next to it.
func Diagnose(p Program, home bool) []byte {
	paper := results.SharedPaper()
	style, script := paper.Style+"\n"+source("diagnose.css"), source("diagnose.js")
	var out bytes.Buffer
	err := diagnosePage.Execute(&out, map[string]any{
		"Policy": policyOf(sums(early, script)+" 'wasm-unsafe-eval'", style, "'none'"), "Style": template.CSS(style), "Early": template.JS(early), "Script": template.JS(script),
		"Worker":  template.HTML(inScript(string(p.Support) + "\n" + source("worker.js"))),
		"Program": template.HTML(`"` + quotable(p.Diagnose) + `"`), "Home": home,
	})
	if err != nil {
		panic("lab: " + err.Error()) // writing to memory cannot fail
	}
	return out.Bytes()
}

var diagnosePage = template.Must(template.New("").Parse(source("diagnose.html")))
