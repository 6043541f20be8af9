package reader

import (
	"errors"
	"math"
	"strconv"
)

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
		return 0, s.wrong("") // a number may go on behind the end
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
