package reader

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

const (
	bufferSize = 1 << 20
	// longestNumber is the greatest length of a number in a file, in bytes.
	longestNumber = 512
	// deepest is how deep lists and objects may lie in each other.
	deepest = 64
)

// errEnd says that a stream ended where a row had not.
var errEnd = errors.New("the row is cut: the file ends inside it")

// scanner reads rows of JSON, one to a line, as they come: a row is never held as
// text. It takes what Python writes, too: NaN, Infinity and -Infinity.
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

// peek is the next byte behind blanks; a newline is none. It is 0 at the end.
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

// expect takes one byte.
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
		key, err := s.string()
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
	width   int  // of the innermost lists of numbers, -1 where they differ
	present bool // the row has it, and it is not null
	key     string
	rank    int // of the key among its names

	objects int    // that a cell of objects has
	parts   []part // what they hold
}

// kind is what a key may hold.
type kind uint8

const (
	skipped kind = iota
	numbers      // and truth values; null is NaN
	texts
	counted // how many texts there are
	objects // one, or a list of them: see part
)

func (c *cell) reset() {
	c.number, c.text, c.width, c.present, c.key = c.number[:0], c.text[:0], 0, false, ""
	c.objects = 0
	for i := range c.parts {
		c.parts[i].reset()
		c.parts[i].ends = c.parts[i].ends[:0]
	}
}

// listed notes that a list of n numbers has ended.
func (c *cell) listed(n int) {
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
			if err := s.value(c, depth+1); err != nil {
				return err
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
	if c == nil {
		return s.skipString()
	}
	text, err := s.string()
	if err != nil {
		return err
	}
	switch c.kind {
	case texts:
		return s.write(c, string(text))
	case counted:
		return s.write(c, "")
	case numbers:
		x, err := strconv.ParseFloat(string(text), 64)
		if err != nil || !math.IsNaN(x) && !math.IsInf(x, 0) {
			return fmt.Errorf("the text %.40q where a number belongs", text)
		}
		return s.store(c, x)
	}
	return nil
}

// store puts a number into a cell.
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
