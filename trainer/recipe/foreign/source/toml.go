package source

import (
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// parseTOML lists the settings of a TOML text in their order, with their lines.
func parseTOML(text []byte) ([]Setting, error) {
	p := &unstable.Parser{}
	p.Reset(text)
	t := tomlReader{text: text, counts: map[string]int{}}
	table := ""
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table:
			table = tomlKey(e.Key())
		case unstable.ArrayTable:
			table = tomlKey(e.Key())
			n := t.counts[table]
			t.counts[table]++
			table = join(table, strconv.Itoa(n))
		case unstable.KeyValue:
			t.add(join(table, tomlKey(e.Key())), e.Value())
		}
		if t.bytes > maxPaths {
			return nil, errTooLarge
		}
	}
	return t.list, p.Error()
}

type tomlReader struct {
	text   []byte
	counts map[string]int
	list   []Setting
	bytes  int
	// seen and lines are how far lines have been counted.
	seen, lines int
}

func tomlKey(parts unstable.Iterator) (path string) {
	for parts.Next() {
		path = join(path, string(parts.Node().Data))
	}
	return path
}

// line is the line number of an offset, which grows from call to call but for what a parser reads twice.
func (t *tomlReader) line(offset int) int {
	if offset < t.seen {
		t.seen, t.lines = 0, 0
	}
	t.lines += strings.Count(string(t.text[t.seen:offset]), "\n")
	t.seen = offset
	return t.lines + 1
}

func (t *tomlReader) add(at string, n *unstable.Node) {
	if t.bytes += len(at) + 64; t.bytes > maxPaths {
		return
	}
	i := 0
	switch n.Kind {
	case unstable.InlineTable:
		for c := n.Children(); c.Next(); i++ {
			t.add(join(at, tomlKey(c.Node().Key())), c.Node().Value())
		}
	case unstable.Array:
		for c := n.Children(); c.Next(); i++ {
			t.add(join(at, strconv.Itoa(i)), c.Node())
		}
	}
	if i > 0 {
		return
	}
	line := t.lines + 1
	if n.Raw.Length > 0 {
		line = t.line(int(n.Raw.Offset))
	}
	t.list = append(t.list, Setting{Path: at, Text: string(n.Data), Null: n.Kind == unstable.Array || n.Kind == unstable.InlineTable, Line: line})
}
