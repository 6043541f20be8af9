package reader

import (
	"bytes"
	"fmt"
)

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
