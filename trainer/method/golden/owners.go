package golden

import (
	_ "embed"
	"strings"
)

// ownersText says which package answers for which cases, one rule a line: a path.Match
// pattern of the case's file, the package below trainer/method, and a substring of the
// case's source. The first rule that covers a case wins.
//
//go:embed owners.tsv
var ownersText string

var owners = readOwners(ownersText)

// ownerRule is a line of ownersText.
type ownerRule struct{ File, Source, Package string }

func readOwners(text string) (rules []ownerRule) {
	for line := range strings.Lines(text) {
		fields := append(strings.Split(strings.TrimSpace(line), "\t"), "")
		rules = append(rules, ownerRule{File: fields[0], Package: "trainer/method/" + fields[1], Source: fields[2]})
	}
	return rules
}

// owner returns the package that answers for the case, or "" if no rule covers it.
func owner(c *Case) string {
	for _, o := range owners {
		if covers(c, o.File, o.Source) {
			return o.Package
		}
	}
	return ""
}
