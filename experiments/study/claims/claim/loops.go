package claim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// expand writes out the loops below a node, and puts the text of what is bound in the place of
// its name. In a list, an entry {for: [{level: natural, format: fp8}, ...], do: [...]} stands
// for the entries of do, once for each binding, with natural for $level and fp8 for $format;
// {for: {level: [natural, amplified], k: [0, 1]}, do: [...]} goes through all combinations, the
// last name fastest.
func expand(n *yaml.Node, bound map[string]string) ([]*yaml.Node, error) {
	switch n.Kind {
	case yaml.AliasNode:
		return expand(n.Alias, bound)
	case yaml.ScalarNode:
		out := *n
		out.Anchor, out.Value = "", replaced(n.Value, bound)
		if out.Style == 0 && out.Value != n.Value {
			out.Tag = "" // the text may be of a number
		}
		return []*yaml.Node{&out}, nil
	case yaml.MappingNode:
		if len(n.Content) == 4 && n.Content[0].Value == "for" && n.Content[2].Value == "do" {
			return unrolled(n.Content[1], n.Content[3], bound)
		}
	}
	out := *n
	out.Anchor, out.Content = "", nil
	for _, child := range n.Content {
		list, err := expand(child, bound)
		if err != nil {
			return nil, err
		}
		if n.Kind != yaml.SequenceNode && len(list) != 1 {
			return nil, fmt.Errorf("line %d: a loop stands in a list", child.Line)
		}
		out.Content = append(out.Content, list...)
	}
	return []*yaml.Node{&out}, nil
}

// unrolled are the entries of a loop.
func unrolled(loop, do *yaml.Node, bound map[string]string) ([]*yaml.Node, error) {
	rounds, err := bindings(loop)
	if err != nil {
		return nil, fmt.Errorf("line %d: a loop has a list of bindings, or lists by name: %w", loop.Line, err)
	}
	var all []*yaml.Node
	for _, round := range rounds {
		own := maps.Clone(bound)
		maps.Copy(own, round)
		list, err := expand(do, own)
		if err != nil {
			return nil, err
		}
		all = append(all, list[0].Content...)
	}
	return all, nil
}

// bindings are the bindings of a loop's rounds.
func bindings(loop *yaml.Node) (rounds []map[string]string, err error) {
	for loop.Kind == yaml.AliasNode {
		loop = loop.Alias
	}
	if loop.Kind != yaml.MappingNode {
		return rounds, loop.Load(&rounds)
	}
	rounds = []map[string]string{{}}
	for i := 0; i < len(loop.Content); i += 2 {
		var values []string
		if err := loop.Content[i+1].Load(&values); err != nil {
			return nil, err
		}
		var next []map[string]string
		for _, round := range rounds {
			for _, v := range values {
				own := maps.Clone(round)
				own[loop.Content[i].Value] = v
				next = append(next, own)
			}
		}
		rounds = next
	}
	return rounds, nil
}

// replaced has the texts of names, the longest name first, and those of names in these texts.
func replaced(text string, bound map[string]string) string {
	if !strings.Contains(text, "$") {
		return text
	}
	names := slices.SortedFunc(maps.Keys(bound), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
	})
	for range 4 {
		before := text
		for _, name := range names {
			text = strings.ReplaceAll(text, "$"+name, bound[name])
		}
		if text == before {
			break
		}
	}
	return text
}
