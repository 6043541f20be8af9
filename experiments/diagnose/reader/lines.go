package reader

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"
)

// record is an object of a file of lines by what its keys hold.
type record struct {
	format *Format
	cells  []cell // of format.keys
	unread func(key string)
}

func newRecord(f *Format) *record {
	o := &record{format: f, cells: make([]cell, len(f.keys))}
	for i, k := range f.keys {
		o.cells[i].kind = k.kind
		for _, p := range f.Parts[k.name].list() {
			o.cells[i].parts = append(o.cells[i].parts, part{name: p.name, cell: cell{kind: p.kind}})
		}
	}
	return o
}

// nothing is the cell of a key that the format does not have. It is never written.
var nothing cell

func (o *record) at(name string) *cell {
	if i, known := o.format.place[name]; known {
		return &o.cells[i]
	}
	return &nothing
}

// keyOf is what the row calls a key.
func (o *record) keyOf(name string) string { return cmp.Or(o.at(name).key, name) }

// column is the list of a key, nil if the row has none of n entries.
func (o *record) column(name string) []float64 {
	if c := o.at(name); c.present {
		return c.number
	}
	return nil
}

// scalar is a single number of the row, NaN if it has none.
func (o *record) scalar(name string) float64 {
	if c := o.at(name); c.present && len(c.number) > 0 {
		return c.number[0]
	}
	return nan
}

// whole is a single whole number of the row, Unknown if it has none.
func (o *record) whole(name string) int { return wholeOf(o.scalar(name)) }

// wholeOf is a number as a whole one, Unknown if it is none.
func wholeOf(x float64) int {
	if x == float64(int(x)) {
		return int(x)
	}
	return Unknown
}

// word is the last text of a key, empty if the row has none.
func (o *record) word(name string) string {
	if c := o.at(name); len(c.text) > 0 {
		return c.text[len(c.text)-1]
	}
	return ""
}

// read reads an object and what follows it on its line.
func (o *record) read(s *scanner) error {
	for i := range o.cells {
		o.cells[i].reset()
	}
	s.stored, s.written = 0, 0
	err := s.object(func(name []byte) error {
		key := string(name)
		at, known := o.format.index[key]
		if !known {
			o.unread(key)
			return s.value(nil, 0)
		}
		rank, c, null := at.rank, &o.cells[at.place], s.peek() == 'n'
		if c.present && (rank > c.rank || rank < c.rank && null) {
			return s.value(nil, 0) // a preferred name of it is there
		}
		c.reset() // a key that comes twice counts once
		c.present, c.key, c.rank = !null, key, rank
		if err := s.value(c, 0); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		return nil
	})
	if err == nil && !s.array && s.peek() != '\n' && (s.at < s.end || s.err == nil) {
		return s.wrong("something stands behind the row")
	}
	return err
}

// firstKeys are the keys of the first complete object that has any; the error is that there is none where one belongs.
func firstKeys(s *scanner) ([]string, error) {
	for more := s.begin(); more; more = s.nextRow() {
		var keys []string
		length := 0
		err := s.object(func(name []byte) error {
			if length += len(name) + placeBytes; length > rowKeys {
				return fmt.Errorf("a row whose keys are longer than %d MiB", rowKeys>>20)
			}
			keys = append(keys, string(name))
			return s.value(nil, 0)
		})
		if err == nil && len(keys) > 0 {
			return keys, nil
		}
	}
	if s.err != io.EOF {
		return nil, s.err
	}
	return nil, nil
}

// probe is the keys of the input's first complete row, and the input from its beginning.
func (in Input) probe(src io.Reader) (keys []string, whole io.Reader, err error) {
	held := &probing{src: src}
	if in.At == nil {
		held.kept = new(chunks)
	}
	keys, err = firstKeys(newScanner(held, in.most()))
	if errors.Is(err, errProbed) || errors.Is(err, errExpansion) {
		return nil, nil, &Refused{in.Name, err.Error(), "it is no dump: look at how it begins"}
	}
	if in.At == nil {
		return keys, io.MultiReader(io.NewSectionReader(held.kept, 0, held.kept.size), src), nil
	}
	_, whole, _, _ = in.opened() // as the first time
	return keys, whole, nil
}

// probing is the beginning of a stream, which is kept if it cannot be read once more.
type probing struct {
	src  io.Reader
	kept *chunks
	n    int64
}

func (p *probing) Read(b []byte) (int, error) {
	if p.n >= probed {
		return 0, errProbed
	}
	n, err := p.src.Read(b)
	p.n += int64(n)
	if p.kept != nil {
		p.kept.Write(b[:n])
	}
	return n, err
}

func (f *File) readLines(in Input, src io.Reader, forced string, visit func(*Row) error) error {
	keys, whole, err := in.probe(src)
	if err != nil {
		return err
	}
	format, err := choose(in.Name, keys, forced)
	if err != nil {
		return err
	}
	if format == nil { // nothing complete to tell by
		format = formatOf("neutral")
	} else {
		f.Format, f.Notes = format.Name, format.Notes
	}
	seen := map[uint64]bool{}
	var row Row
	s, o := newScanner(whole, in.most()), newRecord(format)
	o.unread = f.unread
	for more := s.begin(); more; more = s.nextRow() {
		line, from := s.line, s.place()
		if s.peek() == 0 && s.at >= s.end && s.err == io.EOF {
			if s.array {
				s.odd = errEnd.Error()
			}
			break
		}
		if err := o.line(s); err != nil {
			f.damage(line, s.place(), err.Error())
			if s.array && !errors.As(err, new(foreignRow)) {
				break // where the next row begins is unknown
			}
			continue
		}
		if s.at >= s.end && s.err != nil && s.err != io.EOF {
			f.damage(line, s.place(), s.wrong("").Error()) // after a row that is complete
		}
		if sent, err := f.visitRows(o, &row, line, from, seen, visit); sent != nil {
			return sent
		} else if err != nil {
			f.damage(line, from, err.Error())
		}
	}
	f.noteUnread(format.names())
	if s.odd == "" && s.array && f.Rows+f.Damaged == 0 {
		s.odd = "the list of rows is empty"
	}
	if s.odd != "" {
		f.damage(s.line, s.place(), s.odd)
	}
	if format.Stable != "" && in.InFolder != nil && f.Rows > 0 && !in.InFolder(format.Stable) {
		f.damage(s.line, s.place(), "there is no "+format.Stable+" next to the file: the step was not complete")
	}
	return nil
}

func (o *record) line(s *scanner) error {
	if s.peek() == '\n' {
		return errors.New("a blank line")
	}
	if err := o.read(s); err != nil {
		return err
	}
	if !slices.ContainsFunc(o.format.told, func(name string) bool { return o.at(name).present }) {
		return foreignRow(o.format.Name)
	}
	return nil
}

// foreignRow is a complete object that is no row of the format of that name.
type foreignRow string

// Error says so.
func (f foreignRow) Error() string { return "an object without any of the keys of " + string(f) }

// again says what of an object that a file has once comes a second time, empty if nothing does.
func (o *record) again(seen map[uint64]bool) string {
	var parts []string
	for _, name := range o.format.Unique {
		c := o.at(name)
		switch {
		case !c.present:
			return ""
		case c.kind == texts:
			parts = append(parts, fmt.Sprintf("%s %q", c.key, o.word(name)))
		default:
			parts = append(parts, fmt.Sprintf("%s %v", c.key, o.scalar(name)))
		}
	}
	what := strings.Join(parts, ", ")
	name := fnv.New64a()
	io.WriteString(name, what)
	if h := name.Sum64(); what == "" || !seen[h] {
		if len(seen) < rememberedRows {
			seen[h] = true
		}
		return ""
	}
	return what + " comes a second time"
}

// visitRows hands the rows of an object on: sent is an error of the visitor.
func (f *File) visitRows(o *record, row *Row, line int, from int64, seen map[uint64]bool, visit func(*Row) error) (sent, err error) {
	row.reset()
	row.Line, row.Byte = line, from
	err = o.format.rows(o, row, func() error {
		if len(row.Mask) > rowTokens {
			return fmt.Errorf("a response of more than %d tokens", rowTokens)
		}
		if again := o.again(seen); again != "" {
			f.damage(line, from, again)
		}
		if len(seen) == rememberedRows {
			f.note(fmt.Sprintf("only the first %d rows are compared by %s with others", rememberedRows, strings.Join(o.format.Unique, " and ")))
		}
		sent = f.send(row, visit)
		return sent
	})
	return sent, err
}
