package lab

import (
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"strings"
	"testing"

	"driftlab/results"
)

// TestSite: the policy names every script and style that runs, nothing stands outside the
// page and its program, and no place is left unfilled.
func TestSite(t *testing.T) {
	p := Program{Gzip: []byte("module"), Diagnose: []byte("second module"), Support: []byte("class Go {} // </script>")}
	which := results.Part{HTML: "<p>corrections</p>", Style: ".corrections {}", Script: "const corrections = 1; // </b>\n"}
	site := Site(p, which)
	if len(site) != 3 || site[2].Name != DiagnosePage || site[0].Name != "index.html" || string(site[1].Data) != "driftlabProgram(\""+base64.StdEncoding.EncodeToString(p.Gzip)+"\");\n" {
		t.Fatalf("%d files, the first %s", len(site), site[0].Name)
	}
	for name, page := range map[string]string{"a site": string(site[0].Data), "one file": string(OneFile(p, which)), "dumps": string(site[2].Data)} {
		policy := regexp.MustCompile(`Content-Security-Policy" content="([^"]+)"`).FindStringSubmatch(page)[1]
		if !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe-inline") || strings.Contains(policy, "http") {
			t.Errorf("%s: policy %s", name, policy)
		}
		elements := regexp.MustCompile(`(?s)<(?:script|style)>(.*?)</(?:script|style)>`).FindAllStringSubmatch(page, -1)
		if len(elements) != 3 {
			t.Errorf("%s: %d scripts and styles", name, len(elements))
		}
		for _, e := range elements {
			sum := sha256.Sum256([]byte(e[1]))
			if !strings.Contains(policy, base64.StdEncoding.EncodeToString(sum[:])) {
				t.Errorf("%s: the policy refuses %.60q", name, e[1])
			}
		}
		if packed := base64.StdEncoding.EncodeToString(Gzip([]byte(which.HTML))); name != "dumps" && (!strings.Contains(page, `id="which">`+packed+"<") || !strings.Contains(page, which.Style) || !strings.Contains(page, which.Script)) {
			t.Errorf("%s: without the page of corrections", name)
		}
		if strings.Contains(page, "{{") || regexp.MustCompile(`(?:src|href)="?(?:https?:)?//`).MatchString(page) {
			t.Errorf("%s: an unfilled place, or an address elsewhere", name)
		}
		program := p.Gzip
		if name == "dumps" {
			program = p.Diagnose
			if !strings.Contains(policy, "connect-src 'none'") {
				t.Errorf("%s: policy %s", name, policy)
			}
		}
		if inside := strings.Contains(page, `"`+base64.StdEncoding.EncodeToString(program)+`"`); inside != (name != "a site") || strings.Contains(page, site[1].Name) == inside {
			t.Errorf("%s: the program is inside: %v", name, inside)
		}
		if !strings.Contains(page, `class Go {} // <\/script>`) {
			t.Errorf("%s: wasm_exec.js ends the page's script", name)
		}
	}
}
