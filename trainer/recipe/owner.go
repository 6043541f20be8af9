package recipe

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"driftlab/results/stats"
	"driftlab/trainer/method"

	"go.yaml.in/yaml/v4"
)

// unnamed records that a mapping names no method: which ones have its fields, and the line
// that works with the first of them.
func (c Choice[T]) unnamed(d *decoder, n *yaml.Node, path string) {
	all := table[T]()
	owners := ownersOf(all, keysOf(n))
	if len(owners) == 0 {
		d.fault(n, join(path, "name"), "missing: choose one of %s", strings.Join(all.Names(), ", "))
		return
	}
	d.fault(n, join(path, "name"), "missing: %s of %s: %s", parametersAre(keysOf(n)), someOf(owners), d.lineWith(n, path, owners[0], n.Content))
}

// elsewhere records a field that the chosen method has not and others have. It leaves
// what is near to one of the method's own to the decoder, which suggests it.
func (c Choice[T]) elsewhere(d *decoder, n *yaml.Node, path string) (found bool) {
	own := parametersOf(c.Params)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i].Value
		if key == "name" || slices.Contains(own, key) || method.Nearest(key, own) != "" {
			continue
		}
		if owners := ownersOf(table[T](), []string{key}); len(owners) > 0 {
			d.fault(n.Content[i], join(path, key), "%s has no such parameter: it is a parameter of %s: %s",
				c.Name, someOf(owners), d.lineWith(n.Content[i], path, owners[0], n.Content[i:i+2]))
			found = true
		}
	}
	return found
}

// lineWith is what to write to choose a method with some parameters: for --set where the
// node at fault came from one, else for a file.
func (d *decoder) lineWith(at *yaml.Node, path, name string, parameters []*yaml.Node) string {
	chosen := []*yaml.Node{scalar("!!str", "name"), scalar("!!str", name)}
	line := flow(&yaml.Node{Kind: yaml.MappingNode, Content: append(chosen, parameters...)})
	if source, _ := d.doc.origin(at); !strings.HasPrefix(source, "--set ") {
		if strings.HasSuffix(path, "]") {
			return "say " + line
		}
		return fmt.Sprintf("say %s: %s", path[strings.LastIndexByte(path, '.')+1:], line)
	}
	quote := `"`
	if strings.Contains(line, quote) {
		quote = "'"
	}
	return fmt.Sprintf("say --set %s%s=%s%[1]s", quote, path, line)
}

func ownersOf[T any](all method.Table[T], keys []string) []string {
	var names []string
	for _, e := range all {
		if hasAll(parametersOf(e.New()), keys) {
			names = append(names, e.Name)
		}
	}
	return names
}

func parametersOf(m any) []string {
	return stats.Map(fieldsOf(reflect.ValueOf(m).Elem()), func(f field) string { return f.name })
}

// keysOf are the names of a mapping's fields.
func keysOf(n *yaml.Node) []string {
	var keys []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		keys = append(keys, n.Content[i].Value)
	}
	return keys
}

func hasAll(names, wanted []string) bool {
	return !slices.ContainsFunc(wanted, func(key string) bool { return !slices.Contains(names, key) })
}

// parametersAre is "k is a parameter" or "low and high are parameters".
func parametersAre(keys []string) string {
	if len(keys) == 1 {
		return keys[0] + " is a parameter"
	}
	return strings.Join(keys, " and ") + " are parameters"
}

func someOf(names []string) string {
	const most = 3
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}
