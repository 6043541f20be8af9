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
	format *lineFormat
	cells  []cell // of format.keys
	unread func(key string)
}

// lineFormat is a format with an object a line.
type lineFormat struct {
	name string
	// marks are the keys that tell it: all of them, and one of anyOf if there are any.
	marks, anyOf []string
	// keys are those that are read; each of also is the name of one and other names for it, the preferred first.
	keys []key
	also [][]string
	// parts are what the objects of a key of objects hold, by that key.
	parts map[string][]key
	// unique are the keys whose values together a file has once.
	unique []string
	// rows hands the responses of an object on.
	rows func(o *record, row *Row, visit func() error) error
	// notes are what a reader of the figures must know.
	notes []string
	// stable is a file that stands next to complete ones.
	stable string

	index map[string]placed
}

// key is one that a format reads, and what it may hold.
type key struct {
	name string
	kind kind
}

// lineFormats are tried in this order: those with more marks first.
var lineFormats = indexed(&nemo, &prime, &torchtitan, &openInstruct, &tinker, &tinkerSummary, &driftlab, &verl, &neutral, &areal, &roll)

// placed is the place of a key among those of a format, and which of its names it is.
type placed struct{ place, rank int }

// indexed are formats with the places of their keys.
func indexed(list ...*lineFormat) []*lineFormat {
	for _, f := range list {
		f.index = map[string]placed{}
		for i, k := range f.keys {
			f.index[k.name] = placed{i, 0}
		}
		for _, names := range f.also {
			for rank, other := range names[1:] {
				f.index[other] = placed{f.index[names[0]].place, rank + 1}
			}
		}
	}
	return list
}

// find is the place of a key in the format, -1 for none, and which of its names it is: 0 for its own.
func (f *lineFormat) find(name string) (place, rank int) {
	if at, known := f.index[name]; known {
		return at.place, at.rank
	}
	return -1, 0
}

// among reports whether keys have one, under whatever name.
func (f *lineFormat) among(keys []string, name string) bool {
	want, _ := f.find(name)
	return slices.ContainsFunc(keys, func(k string) bool {
		place, _ := f.find(k)
		return place == want && place >= 0 || k == name
	})
}

// fits reports whether a row with these keys is of the format.
func (f *lineFormat) fits(keys []string) bool {
	return len(f.lacking(keys)) == 0
}

// lacking are the marks that keys do not have.
func (f *lineFormat) lacking(keys []string) []string {
	var list []string
	for _, m := range f.marks {
		if !f.among(keys, m) {
			list = append(list, m)
		}
	}
	if len(f.anyOf) > 0 && !slices.ContainsFunc(f.anyOf, func(m string) bool { return f.among(keys, m) }) {
		list = append(list, strings.Join(f.anyOf, " or "))
	}
	return list
}

func newRecord(f *lineFormat) *record {
	o := &record{format: f, cells: make([]cell, len(f.keys))}
	for i, k := range f.keys {
		o.cells[i].kind, o.cells[i].parts = k.kind, f.partsOf(k.name)
	}
	return o
}

// at is the cell of a key.
func (o *record) at(name string) *cell {
	place, _ := o.format.find(name)
	return &o.cells[place]
}

// keyOf is the name under which the row has a key, its own where it has none.
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

// read reads an object and what is behind it on its line.
func (o *record) read(s *scanner) error {
	for i := range o.cells {
		o.cells[i].reset()
	}
	s.stored, s.written = 0, 0
	err := s.object(func(name []byte) error {
		key := string(name)
		i, rank := o.format.find(key)
		if i < 0 {
			o.unread(key)
			return s.value(nil, 0)
		}
		c, null := &o.cells[i], s.peek() == 'n'
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

// keysOf are those of the first complete object that has any; the error is that there is none where one belongs.
func keysOf(s *scanner) ([]string, error) {
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
	keys, err = keysOf(newScanner(held, boundsOf(in.MaxMemory)))
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

// readLines reads a file of lines.
func (f *File) readLines(in Input, src io.Reader, forced string, visit func(*Row) error) error {
	keys, whole, err := in.probe(src)
	if err != nil {
		return err
	}
	format, err := chooseLines(in.Name, keys, forced)
	if err != nil {
		return err
	}
	if format == nil { // nothing complete to tell by
		format = &neutral
	} else {
		f.Format, f.Notes = format.name, format.notes
	}
	seen := map[uint64]bool{}
	var row Row
	s, o := newScanner(whole, boundsOf(in.MaxMemory)), newRecord(format)
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
			f.damage(line, s.place(), s.wrong("").Error()) // behind a row that is complete
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
	if format.stable != "" && in.InFolder != nil && f.Rows > 0 && !in.InFolder(format.stable) {
		f.damage(s.line, s.place(), "there is no "+format.stable+" next to the file: the step was not complete")
	}
	return nil
}

// line reads the object of a line.
func (o *record) line(s *scanner) error {
	if s.peek() == '\n' {
		return errors.New("a blank line")
	}
	if err := o.read(s); err != nil {
		return err
	}
	for i, k := range o.format.keys {
		if o.cells[i].present && slices.Contains(o.format.marks, k.name) {
			return nil
		}
	}
	for _, name := range o.format.anyOf {
		if o.at(name).present {
			return nil
		}
	}
	return foreignRow(o.format.name)
}

// foreignRow is a complete object that is no row of the format of that name.
type foreignRow string

// Error says so.
func (f foreignRow) Error() string { return "an object without any of the keys of " + string(f) }

// again says what of an object that a file has once comes a second time, empty if nothing does.
func (o *record) again(seen map[uint64]bool) string {
	var parts []string
	for _, name := range o.format.unique {
		c := o.at(name)
		switch {
		case !c.present:
			return ""
		case c.kind == texts:
			parts = append(parts, fmt.Sprintf("%s %q", name, o.word(name)))
		default:
			parts = append(parts, fmt.Sprintf("%s %v", name, o.scalar(name)))
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
			f.note(fmt.Sprintf("only the first %d rows are compared by %s with others", rememberedRows, strings.Join(o.format.unique, " and ")))
		}
		sent = f.send(row, visit)
		return sent
	})
	return sent, err
}

// chooseLines is the format of a row with these keys, nil for none at all.
func chooseLines(name string, keys []string, forced string) (*lineFormat, error) {
	for _, f := range lineFormats {
		if forced == f.name || forced == "" && f.fits(keys) {
			return f, nil
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	near, lacking := "", []string(nil)
	for _, f := range lineFormats {
		l := f.lacking(keys)
		if had := len(f.marks) + min(len(f.anyOf), 1) - len(l); had > 0 && (near == "" || len(l) < len(lacking)) {
			near, lacking = f.name, l
		}
	}
	problem := fmt.Sprintf("the keys %.500s are of no format that is known", strings.Join(keys, ", "))
	if near != "" {
		problem += fmt.Sprintf("; the nearest is %s, without %s", near, strings.Join(lacking, ", "))
	}
	return nil, &Refused{name, problem, "choose one with --format, or write the neutral one"}
}
