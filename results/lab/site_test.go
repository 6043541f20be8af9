package lab

import (
	"bytes"
	"crypto/sha256"
	"encoding/ascii85"
	"encoding/base64"
	"io"
	"regexp"
	"strings"
	"testing"

	"driftlab/results"
	"driftlab/results/published"
)

// TestSite: the policy names every script and style that runs, nothing stands outside the
// page and its program, and no place is left unfilled.
func TestSite(t *testing.T) {
	p := Program{Gzip: []byte("module"), Diagnose: []byte("second module"), Support: []byte("class Go {} // </script>")}
	which := results.Part{HTML: "<p>corrections</p>", Style: ".corrections {}", Script: "const corrections = 1; // </b>\n"}
	site := Site(p, which, HomePage)
	if len(site) != 3 || site[2].Name != DiagnosePage || site[0].Name != "index.html" || string(site[1].Data) != "driftlabProgram(\""+quotable(p.Gzip)+"\");\n" {
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
		if packed := base64.StdEncoding.EncodeToString(published.Gzip([]byte(which.HTML))); name != "dumps" && (!strings.Contains(page, `id="which">`+packed+"<") || !strings.Contains(page, which.Style) || !strings.Contains(page, which.Script)) {
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
		if inside := strings.Contains(page, `"`+quotable(program)+`"`); inside != (name != "a site") || strings.Contains(page, site[1].Name) == inside {
			t.Errorf("%s: the program is inside: %v", name, inside)
		}
		if !strings.Contains(page, `class Go {} // <\/script>`) {
			t.Errorf("%s: wasm_exec.js ends the page's script", name)
		}
	}
}

// TestQuotable: a decoder of Ascii85 reads the text once its three characters stand there again, and no element ends at it.
func TestQuotable(t *testing.T) {
	raw := make([]byte, 4099)
	for i := range raw {
		raw[i] = byte(i * i >> 3) // its first bytes are zeros
	}
	text := quotable(raw)
	if strings.ContainsAny(text, "\"\\<z\n") || len(text) != 5*(len(raw)/4)+4 {
		t.Errorf("%d characters for %d bytes: %.80s", len(text), len(raw), text)
	}
	plain := strings.NewReplacer("v", `"`, "w", `\`, "x", "<").Replace(text)
	if got, err := io.ReadAll(ascii85.NewDecoder(strings.NewReader(plain))); err != nil || !bytes.Equal(got, raw) {
		t.Errorf("the text decodes to %d of %d bytes: %v", len(got), len(raw), err)
	}
}
