package reader

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
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

// column is the list of a key, nil if the row lacks it.
func (o *record) column(name string) []float64 {
	if c := o.at(name); c.present {
		return c.number
	}
	return nil
}

// scalar, whole and word are single values of the row.
func (o *record) scalar(name string) float64 { return o.at(name).scalar() }
func (o *record) whole(name string) int      { return o.at(name).whole() }
func (o *record) word(name string) string    { return o.at(name).word() }

// wholeOf is a number as a whole one, Unknown if it is none.
func wholeOf(x float64) int {
	if x == float64(int(x)) {
		return int(x)
	}
	return Unknown
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
	head, kept, read := src, chunks{}, 0
	if in.At == nil { // it cannot be read once more
		head = io.TeeReader(src, &kept)
	}
	keys, err = firstKeys(newScanner(watched{head, func(n int, err error) error {
		if read += n; read >= probed {
			err = cmp.Or(err, errProbed)
		}
		return err
	}}, in.most()))
	if errors.Is(err, errProbed) || errors.Is(err, errExpansion) {
		return nil, nil, &Refused{in.Name, err.Error(), "it is no dump: look at how it begins"}
	}
	if in.At == nil {
		return keys, io.MultiReader(io.NewSectionReader(&kept, 0, kept.size), src), nil
	}
	_, whole, _, _ = in.opened() // as the first time
	return keys, whole, nil
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

const (
	bufferSize = 1 << 16
	// longestNumber is the greatest length of a number in a file, in bytes.
	longestNumber = 512
	// deepest is how deep lists and objects may lie in each other.
	deepest = 64
)

// errEnd says that a stream ended where a row had not.
var errEnd = errors.New("the row is cut: the file ends inside it")

// scanner reads rows of JSON, one to a line, as they come: a row is never held as text. It takes what Python writes, too: NaN,
// Infinity and -Infinity.
//
// No library does: encoding/json and its jsontext refuse NaN. On 100 MB of log-probs reading rows takes 0.44 s of processor time with
// this scanner, the tokens alone 4.6 s with encoding/json and 1.1 s with jsontext, which is an experiment in Go 1.26; on a line of
// 200 MB these hold 750 and 570 MB, and this one 11 MB.
type scanner struct {
	src     io.Reader
	buf     []byte
	at, end int   // what is left of buf
	base    int64 // the place of buf[0] in the stream
	line    int   // that is being read, from 1
	err     error // of src, in the end
	text    []byte
	array   bool   // the rows lie in one list, and lines mean nothing
	odd     string // what is wrong between the rows of a list
	stored  int    // numbers of the row that cells hold
	written int    // bytes of its texts that cells hold
	most    bounds
}

func newScanner(src io.Reader, most bounds) *scanner {
	return &scanner{most: most, src: src, buf: make([]byte, bufferSize), line: 1}
}

// place is the byte to be read next.
func (s *scanner) place() int64 { return s.base + int64(s.at) }

// more reads on until n bytes are left, or the stream ends.
func (s *scanner) more(n int) bool {
	for s.end-s.at < n && s.err == nil {
		if s.at > 0 {
			s.base += int64(s.at)
			s.end = copy(s.buf, s.buf[s.at:s.end])
			s.at = 0
		}
		read, err := s.src.Read(s.buf[s.end:])
		s.end, s.err = s.end+read, err
	}
	return s.end-s.at >= n
}

// peek is the next byte after blanks; a newline is none. It is 0 at the end.
func (s *scanner) peek() byte {
	for {
		for s.at < s.end {
			switch c := s.buf[s.at]; c {
			case ' ', '\t', '\r':
				s.at++
			case '\n':
				if !s.array {
					return c
				}
				s.at++
				s.line++
			default:
				return c
			}
		}
		if !s.more(1) {
			return 0
		}
	}
}

// wrong is an error at the place that was reached.
func (s *scanner) wrong(format string, args ...any) error {
	switch {
	case s.at < s.end && s.buf[s.at] == '\n':
		return errors.New("the row is cut: the line ends inside it")
	case s.at >= s.end && s.err != nil && s.err != io.EOF:
		return fmt.Errorf("the stream is cut: %v", s.err)
	case s.at >= s.end:
		return errEnd
	}
	return fmt.Errorf(format, args...)
}

func (s *scanner) expect(c byte) error {
	if s.peek() != c {
		return s.wrong("%q where %q belongs", s.peek(), c)
	}
	s.at++
	return nil
}

// endLine goes to the next line; it is false at the end of the stream.
func (s *scanner) endLine() bool {
	for {
		if i := bytes.IndexByte(s.buf[s.at:s.end], '\n'); i >= 0 {
			s.at += i + 1
			s.line++
			return true
		}
		s.at = s.end
		if !s.more(1) {
			return false
		}
	}
}

// object reads an object whose values field stores or skips.
func (s *scanner) object(field func(key []byte) error) error {
	if err := s.expect('{'); err != nil {
		return err
	}
	if s.peek() == '}' {
		s.at++
		return nil
	}
	for {
		if s.peek() != '"' {
			return s.wrong("%q where a key belongs", s.peek())
		}
		key, err := s.string(true)
		if err != nil {
			return err
		}
		if err := s.expect(':'); err != nil {
			return err
		}
		if err := field(key); err != nil {
			return err
		}
		if s.peek() == '}' {
			s.at++
			return nil
		}
		if err := s.expect(','); err != nil {
			return err
		}
	}
}

// cell is where the values of a key go, flat however deep they lie.
type cell struct {
	kind    kind
	number  []float64
	text    []string
	width   int   // of the innermost lists of numbers, -1 where they differ
	ends    []int // of these lists
	present bool  // the row has it, and it is not null
	key     string
	rank    int // of the key among its names

	objects int    // that a cell of objects has
	parts   []part // what they hold
}

type kind uint8

const (
	skipped kind = iota
	numbers      // and truth values; null is NaN
	texts
	objects // one, or a list of them: see part
)

func (c *cell) reset() {
	c.number, c.text, c.width, c.ends, c.present, c.key = c.number[:0], c.text[:0], 0, c.ends[:0], false, ""
	c.objects = 0
	for i := range c.parts {
		c.parts[i].reset()
		c.parts[i].ends = c.parts[i].ends[:0]
	}
}

// scalar is the first number of a cell, NaN if it has none.
func (c *cell) scalar() float64 {
	if len(c.number) > 0 {
		return c.number[0]
	}
	return nan
}

// whole is that number as a whole one, Unknown if it is none.
func (c *cell) whole() int { return wholeOf(c.scalar()) }

// word is the last text of a cell, empty if it has none.
func (c *cell) word() string {
	if len(c.text) > 0 {
		return c.text[len(c.text)-1]
	}
	return ""
}

// listed notes that a list of n numbers has ended.
func (c *cell) listed(n int) {
	c.ends = append(c.ends, len(c.number))
	if c.width == 0 {
		c.width = n
	} else if c.width != n {
		c.width = -1
	}
}

// value reads any value into a cell; nil throws it away.
func (s *scanner) value(c *cell, depth int) error {
	if depth > deepest {
		return s.wrong("more than %d levels deep", deepest)
	}
	switch s.peek() {
	case '[':
		s.at++
		if s.peek() == ']' {
			s.at++
			return nil
		}
		from, flat := 0, false
		if c != nil && s.peek() != '[' {
			from, flat = len(c.number), true
		}
		for {
			list := s.peek() == '['
			for ; flat && list && from < len(c.number); from++ { // null in the place of lists
				c.ends = append(c.ends, from+1)
			}
			flat = flat && !list
			if err := s.value(c, depth+1); err != nil {
				return err
			}
			if c != nil && !flat && !list {
				c.ends = append(c.ends, len(c.number))
			}
			switch s.peek() {
			case ',':
				s.at++
			case ']':
				s.at++
				if flat {
					c.listed(len(c.number) - from)
				}
				return nil
			default:
				return s.wrong("%q inside a list", s.peek())
			}
		}
	case '{':
		if c != nil && c.kind == numbers {
			return s.wrong("an object where a number belongs")
		}
		if c != nil && c.kind == objects {
			return s.part(c, depth)
		}
		return s.object(func([]byte) error { return s.value(c, depth+1) })
	case '"':
		return s.textValue(c)
	}
	x, err := s.word()
	if err == nil && c != nil {
		switch c.kind {
		case numbers:
			return s.store(c, x)
		case texts:
			return s.write(c, strconv.FormatFloat(x, 'g', -1, 64))
		}
	}
	return err
}

// textValue stores a text; among numbers only "nan" and "inf" may be one.
func (s *scanner) textValue(c *cell) error {
	text, err := s.string(c != nil)
	if err != nil || c == nil {
		return err
	}
	switch c.kind {
	case texts:
		return s.write(c, string(text))
	case numbers:
		x, err := strconv.ParseFloat(string(text), 64)
		if err != nil || !math.IsNaN(x) && !math.IsInf(x, 0) {
			return fmt.Errorf("the text %.40q where a number belongs", text)
		}
		return s.store(c, x)
	}
	return nil
}

func (s *scanner) store(c *cell, x float64) error {
	if s.stored++; s.stored > s.most.numbers {
		return fmt.Errorf("a row of more than %d numbers: raise --max-memory", s.most.numbers)
	}
	c.number = append(c.number, x)
	return nil
}

// write puts a text into a cell; 16 bytes are its header.
func (s *scanner) write(c *cell, text string) error {
	if s.written += len(text) + 16; s.written > s.most.text {
		return fmt.Errorf("a row with more than %d MiB of text: raise --max-memory", s.most.text>>20)
	}
	c.text = append(c.text, text)
	return nil
}

// listHead is how far into a file its first row is looked for.
const listHead = 4096

// begin goes to the first row, which is inside the list where a whole file is one list of rows. It is false
// where there is none.
func (s *scanner) begin() bool {
	s.more(listHead)
	head := bytes.TrimLeft(s.buf[s.at:s.end], " \t\r\n")
	rest, listed := bytes.CutPrefix(head, []byte{'['})
	rest = bytes.TrimLeft(rest, " \t\r\n")
	if s.array = listed && (len(rest) == 0 || rest[0] == '{' || rest[0] == ']'); !s.array {
		return true
	}
	s.peek()
	s.at++
	return !s.endOfList()
}

// nextRow goes to the next row; it is false where there is none.
func (s *scanner) nextRow() bool {
	if !s.array {
		return s.endLine()
	}
	if s.endOfList() {
		return false
	}
	if c := s.peek(); c != ',' {
		s.odd = s.wrong("%q between two rows of a list", c).Error()
		return false
	}
	s.at++
	s.peek()
	return true
}

// endOfList takes the end of the list, if it is there.
func (s *scanner) endOfList() bool {
	if s.peek() != ']' {
		return false
	}
	s.at++
	if c := s.peek(); c != 0 {
		s.odd = fmt.Sprintf("%q behind the list of rows", c)
	}
	return true
}

// exact is up to where whole numbers have a float64 of their own, powers those of ten that have.
const exact = 1 << 53

var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19}

// word reads a number, a truth value, null, NaN or an infinity. null is NaN.
func (s *scanner) word() (float64, error) {
	s.more(longestNumber)
	from, n := s.at, s.at
	whole, digits, point := uint64(0), 0, 0
	if n < s.end && s.buf[n] == '-' {
		n++
	}
	for ; n < s.end && digits < 19; n++ {
		if c := s.buf[n]; c-'0' <= 9 {
			whole, digits = 10*whole+uint64(c-'0'), digits+1
		} else if c == '.' && point == 0 && digits > 0 {
			point = n
		} else {
			break
		}
	}
	decimals := 0
	if point > 0 {
		decimals = n - 1 - point
	}
	plain := digits > 0 && whole <= exact
	for ; n < s.end && n-from < longestNumber && inWord(s.buf[n]); n++ {
		plain = false
	}
	word := s.buf[from:n]
	s.at = n
	if plain { // a quotient of two numbers that are exact is rounded once
		x := float64(whole) / powers[decimals]
		if word[0] == '-' {
			x = -x
		}
		return x, nil
	}
	if n == s.end && s.err != nil {
		return 0, s.wrong("") // a number may go on after the end
	}
	switch string(word) {
	case "null", "None":
		return math.NaN(), nil
	case "true":
		return 1, nil
	case "false":
		return 0, nil
	}
	x, err := strconv.ParseFloat(string(word), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		s.at = from
		return 0, s.wrong("%.40q where a value belongs", word)
	}
	return x, nil
}

// inWord reports whether a byte may belong to a number or a word.
func inWord(c byte) bool {
	return c-'0' <= 9 || c == '.' || c == '-' || c == '+' || c|32 >= 'a' && c|32 <= 'z'
}

// string reads a text; it is valid until the next one is read. A text that is not to be kept is passed over.
func (s *scanner) string(keep bool) ([]byte, error) {
	s.at++
	s.text = s.text[:0]
	for {
		rest := s.buf[s.at:s.end]
		i := bytes.IndexAny(rest, "\"\\\n")
		n := i
		if i < 0 {
			n = len(rest)
		}
		if keep {
			if len(s.text)+n > longestText {
				s.text = nil
				return nil, fmt.Errorf("a text of more than %d MiB", longestText>>20)
			}
			s.text = append(s.text, rest[:n]...)
		}
		s.at += n
		switch {
		case i < 0:
			if !s.more(1) {
				return nil, s.wrong("")
			}
		case s.buf[s.at] == '"':
			s.at++
			return s.text, nil
		case s.buf[s.at] == '\n':
			return nil, s.wrong("")
		case keep:
			if err := s.escaped(); err != nil {
				return nil, err
			}
		case s.more(2):
			s.at += 2
		default:
			s.at = s.end
			return nil, s.wrong("")
		}
	}
}

// escaped reads what stands after a backslash.
func (s *scanner) escaped() error {
	if !s.more(12) && !s.more(2) {
		s.at = s.end
		return s.wrong("")
	}
	c := s.buf[s.at+1]
	if c == 'u' {
		r, n := s.unicode(s.at)
		if n == 0 {
			return s.wrong("a broken \\u in a text")
		}
		if utf16.IsSurrogate(r) {
			if low, m := s.unicode(s.at + n); m > 0 && utf16.DecodeRune(r, low) != utf8.RuneError {
				r, n = utf16.DecodeRune(r, low), n+m
			}
		}
		s.text = utf8.AppendRune(s.text, r)
		s.at += n
		return nil
	}
	i := bytes.IndexByte([]byte(`"\/bfnrt`), c)
	if i < 0 {
		return s.wrong("%q behind a backslash", c)
	}
	s.text = append(s.text, "\"\\/\b\f\n\r\t"[i])
	s.at += 2
	return nil
}

// unicode is the character of a \u with four digits, and how many bytes it takes: 0 if it is none.
func (s *scanner) unicode(at int) (rune, int) {
	if at+6 > s.end || s.buf[at] != '\\' || s.buf[at+1] != 'u' {
		return 0, 0
	}
	x, err := strconv.ParseUint(string(s.buf[at+2:at+6]), 16, 16)
	if err != nil {
		return 0, 0
	}
	return rune(x), 6
}

// part is what the objects of a cell hold under a key, one after the other: the entries of object i end at ends[i].
type part struct {
	name string
	cell
	ends []int
}

// part reads an object into the parts of a cell.
func (s *scanner) part(c *cell, depth int) error {
	if s.stored += len(c.parts); s.stored > s.most.numbers {
		return fmt.Errorf("a row of more than %d numbers: raise --max-memory", s.most.numbers)
	}
	err := s.object(func(name []byte) error {
		i := slices.IndexFunc(c.parts, func(p part) bool { return p.name == string(name) })
		if i < 0 || s.peek() == 'n' { // null
			return s.value(nil, depth+1)
		}
		p, from := &c.parts[i], 0
		if n := len(p.ends); n > 0 {
			from = p.ends[n-1]
		}
		p.number, p.text = p.number[:min(from, len(p.number))], p.text[:min(from, len(p.text))] // a key that comes twice counts once
		if err := s.value(&p.cell, depth+1); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		return nil
	})
	c.objects++
	for i := range c.parts {
		p := &c.parts[i]
		p.ends = append(p.ends, len(p.number)+len(p.text))
	}
	return err
}

// part is what an object of a cell holds under a key, the cell nothing if that is nothing.
func (o *record) part(name, key string, object int) *cell {
	c := o.at(name)
	p := &c.parts[slices.IndexFunc(c.parts, func(p part) bool { return p.name == key })]
	if object >= len(p.ends) {
		return &nothing
	}
	from, to := 0, p.ends[object]
	if object > 0 {
		from = p.ends[object-1]
	}
	switch {
	case from == to:
		return &nothing
	case p.kind == texts:
		return &cell{text: p.text[from:to]}
	}
	return &cell{number: p.number[from:to]}
}
