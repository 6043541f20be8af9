package diagnose

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// uneven is how many times as large the median error, in logits, is in some parts of a dump as in the others where a gap belongs to these parts. Equal
	// engines have it within a tenth over a few hundred tokens, and a bf16 engine has a third to a quarter of an fp8 engine's.
	uneven = 3
	// mostUneven is the part of k3 that such parts hold at least, leastPart the tokens that a part is judged by.
	mostUneven, leastPart = 0.8, 200
	// mostOfDump is the part of the tokens that such parts have less than: where all steps but the first have a gap, the first one is what differs.
	mostOfDump = 0.9
)

// unevenGap is the finding of a gap that some parts of a dump have.
const unevenGap = "uneven-gap"

// part is one of the environments, workers, files or steps of a dump.
type part struct {
	name       string
	step       int
	errors     []float64
	median, k3 float64
	tokens     int
}

// unevenOf says which environments, workers, files or steps have nearly all of a gap, with an error at a token several times that of the others; empty where none do.
func unevenOf(rows []*kept) string {
	for _, by := range []struct {
		kind string
		name func(k *kept) string
	}{
		{"environment", func(k *kept) string { return k.env }},
		{"worker", func(k *kept) string { return k.worker }},
		{"step", func(k *kept) string {
			if k.step < 0 {
				return ""
			}
			return fmt.Sprint(k.step)
		}},
		{"file", func(k *kept) string { return k.file }},
	} {
		if text := unevenBy(rows, by.kind, by.name); text != "" {
			return text
		}
	}
	return ""
}

// unevenBy is unevenOf by one division.
func unevenBy(rows []*kept, kind string, name func(k *kept) string) string {
	parts, total, tokens := map[string]*part{}, 0.0, 0
	var list []*part
	for _, k := range rows {
		key := name(k)
		if key == "" {
			return ""
		}
		p := parts[key]
		if p == nil {
			p = &part{name: key, step: k.step}
			parts[key], list = p, append(list, p)
		}
		for i, roll := range k.roll {
			x := k3Of(k.old[i] - roll)
			p.k3, total, p.tokens, tokens = p.k3+x, total+x, p.tokens+1, tokens+1
			if u, _, ok := logitError(roll, k.old[i]); ok {
				p.errors = append(p.errors, abs(u))
			}
		}
	}
	list = slices.DeleteFunc(list, func(p *part) bool { return len(p.errors) < leastPart })
	for _, p := range list {
		p.median = medianOf(p.errors)
	}
	slices.SortStableFunc(list, func(a, b *part) int {
		if a.median > b.median {
			return -1
		}
		return count1(a.median < b.median)
	})
	for n := 1; n < len(list); n++ {
		if list[n-1].median < uneven*list[n].median {
			continue
		}
		high := slices.Clone(list[:n])
		k3, of := 0.0, 0
		for _, p := range high {
			k3, of = k3+p.k3, of+p.tokens
		}
		if k3 < mostUneven*total || share(of, tokens) >= mostOfDump {
			return ""
		}
		return fmt.Sprintf("the gap lies in %s: %.0f %% of k3 on %.0f %% of the tokens; the median error in logits is %.2g there and at most %.2g elsewhere",
			partNames(kind, high, list[n:]), 100*k3/total, 100*share(of, tokens), list[n-1].median, list[n].median)
	}
	return ""
}

// partNames names the parts: steps that are all the last ones by the first of them, and a few of many by their number.
func partNames(kind string, high, low []*part) string {
	if kind == "step" {
		first := slices.MinFunc(high, func(a, b *part) int { return a.step - b.step }).step
		if !slices.ContainsFunc(low, func(p *part) bool { return p.step > first }) && len(high) > 1 {
			return fmt.Sprintf("the steps from step %d on", first)
		}
		slices.SortFunc(high, func(a, b *part) int { return a.step - b.step })
	}
	var names []string
	for i, p := range high {
		if i == mostKeys {
			names = append(names, fmt.Sprintf("%d more", len(high)-i))
			break
		}
		names = append(names, p.name)
	}
	return kind + " " + strings.Join(names, ", ")
}
