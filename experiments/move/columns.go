package main

import (
	"driftlab/results/record"

	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// JSON lines of one kind are stored by columns: the form of a line stands once, without its
// numbers and strings, and these stand column by column, where like is next to like: the
// compressed columns take three quarters of the compressed lines. A seal that is that of its
// line (see SealLine) is not stored, and computed again. Every byte comes back.

// slot stands in the form of a line where the line has a number or a string. JSON has no such byte.
const slot = 0

// sealed ends the form of a line whose seal is not stored. No form ends so by itself: a byte
// that is not JSON is a value.
const sealed = 1

// split takes the numbers and strings out of a line, and says of each in which column it
// stands: that of the key before it, and how often the line had this key. Keys stay.
func split(line []byte) (shape []byte, values [][]byte, columns []string) {
	column, times := "", map[string]int{}
	for at := 0; at < len(line); {
		end := at + 1
		switch line[at] {
		case '{', '}', '[', ']', ',', ':':
			shape, at = append(shape, line[at]), end
			continue
		case slot:
		case '"':
			for end < len(line) && line[end] != '"' {
				if line[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end+1, len(line))
			if end < len(line) && line[end] == ':' {
				key := string(line[at:end])
				times[key]++
				column = key + strconv.Itoa(times[key])
				shape, at = append(shape, key...), end
				continue
			}
		default:
			for end < len(line) && bytes.IndexByte([]byte("{}[],:\"\x00"), line[end]) < 0 {
				end++
			}
		}
		shape, values, columns, at = append(shape, slot), append(values, line[at:end]), append(columns, column), end
	}
	return shape, values, columns
}

// errPacked says of what cannot be unpacked that it is not what was packed.
var errPacked = errors.New("not lines as they were packed")

// UnpackLines returns the lines that PackLines compressed.
func UnpackLines(packed []byte) ([]byte, error) {
	text, err := decoder.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errPacked, err)
	}
	rest := &unread{text: text}
	order, forms := make([]int, rest.count()), make([][]byte, rest.count())
	of := make([][]string, len(forms)) // the columns of a form
	for i := range forms {
		forms[i] = rest.line()
		_, _, of[i] = split(bytes.TrimSuffix(forms[i], []byte{sealed}))
	}
	var ids []string
	size := map[string]int{}
	for i := range order {
		if order[i], err = strconv.Atoi(string(rest.line())); err != nil || order[i] < 0 || order[i] >= len(forms) {
			return nil, errPacked
		}
		for _, id := range of[order[i]] {
			if size[id] == 0 {
				ids = append(ids, id)
			}
			size[id]++
		}
	}
	columns := map[string]*unread{}
	for _, id := range ids {
		start := rest.text
		for range size[id] {
			rest.line()
		}
		columns[id] = &unread{text: start[:len(start)-len(rest.text)]}
	}
	if rest.short || len(rest.text) > 0 {
		return nil, errPacked
	}
	var out []byte
	for _, n := range order {
		i, start := 0, len(out)
		form, bare := bytes.CutSuffix(forms[n], []byte{sealed})
		for _, c := range form {
			if c != slot {
				out = append(out, c)
				continue
			}
			out = append(out, columns[of[n][i]].line()...)
			i++
		}
		if bare {
			if len(out) == start {
				return nil, errPacked
			}
			out = append(out[:start], record.SealLine(out[start:])...)
		}
		out = append(out, '\n')
	}
	return out, nil
}

// unread is what is still to be read of a text, line by line.
type unread struct {
	text  []byte
	short bool // more was asked for than there is
}

func (u *unread) line() []byte {
	line, rest, ok := bytes.Cut(u.text, []byte{'\n'})
	u.text, u.short = rest, u.short || !ok
	return line
}

// count reads a number of lines, of which no more can be than there are bytes.
func (u *unread) count() int {
	n, err := strconv.Atoi(string(u.line()))
	if err != nil || n < 0 || n > len(u.text) {
		u.short = true
		return 0
	}
	return n
}
