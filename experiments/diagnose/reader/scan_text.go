package reader

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// string reads a text; it is valid until the next one is read.
func (s *scanner) string() ([]byte, error) {
	s.at++
	s.text = s.text[:0]
	for {
		rest := s.buf[s.at:s.end]
		i := bytes.IndexAny(rest, "\"\\\n")
		n := i
		if i < 0 {
			n = len(rest)
		}
		if len(s.text)+n > longestText {
			s.text = nil
			return nil, fmt.Errorf("a text of more than %d MiB", longestText>>20)
		}
		if i < 0 {
			s.text = append(s.text, rest...)
			s.at = s.end
			if !s.more(1) {
				return nil, s.wrong("")
			}
			continue
		}
		s.text = append(s.text, rest[:i]...)
		s.at += i
		switch s.buf[s.at] {
		case '"':
			s.at++
			return s.text, nil
		case '\n':
			return nil, s.wrong("")
		}
		if err := s.escaped(); err != nil {
			return nil, err
		}
	}
}

// escaped reads what stands behind a backslash.
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

// skipString goes behind a text.
func (s *scanner) skipString() error {
	s.at++
	for {
		i := bytes.IndexAny(s.buf[s.at:s.end], "\"\\\n")
		if i < 0 {
			s.at = s.end
		} else if s.at += i; s.buf[s.at] == '"' {
			s.at++
			return nil
		} else if s.buf[s.at] == '\\' && s.more(2) {
			s.at += 2
			continue
		} else {
			return s.wrong("a broken text")
		}
		if !s.more(1) {
			return s.wrong("")
		}
	}
}
