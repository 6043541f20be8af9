package reader

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// What a pickle can hold is nil, bool, int64, float64, string, and these.
type (
	// span is a string of bytes, where it lies in the file: it is not read before it is wanted.
	span struct{ from, n int64 }
	// dictionary keeps the order of its keys.
	dictionary struct {
		keys, values []any
		place        map[string]int // of the texts among the first indexed keys
		indexed      int
	}
	// global names a class or a function. It is never called.
	global struct{ module, name string }
	// built is what a global would have made of arguments and state.
	built struct {
		by    global
		args  []any
		state any
	}
	// stored is what persistent_load would have made of its argument.
	stored struct{ id any }
	mark   struct{}
)

// get is the entry of a key, nil if there is none.
func (d *dictionary) get(key string) any {
	if d.place == nil {
		d.place = map[string]int{}
	}
	for ; d.indexed < len(d.keys); d.indexed++ {
		if k, ok := d.keys[d.indexed].(string); ok {
			d.place[k] = d.indexed // the last one counts, as in Python
		}
	}
	if i, ok := d.place[key]; ok {
		return d.values[i]
	}
	return nil
}

// unpickler builds the value of a pickle. It executes nothing: a global is a name,
// and what it is applied to stays as it is.
type unpickler struct {
	in     *bufio.Reader
	at     io.ReaderAt
	pos    int64 // of the next byte
	size   int64
	stack  []any
	memo   map[int]any
	held   int64 // bytes that the values take, about
	most   int64 // of them
	small  [16]byte
	stored []*stored // in the order in which they were named
}

// newUnpickler reads pickles between two places of a file, whose values may take so many bytes.
func newUnpickler(at io.ReaderAt, from, to, most int64) *unpickler {
	return &unpickler{most: most, at: at, pos: from, size: to, in: bufio.NewReaderSize(io.NewSectionReader(at, from, to-from), 1<<16)}
}

// value reads a pickle; another may follow.
func (u *unpickler) value() (any, error) {
	u.stack, u.memo = nil, map[int]any{}
	for {
		op, err := u.take(1)
		if err != nil {
			return nil, err
		}
		if u.held > u.most {
			return nil, fmt.Errorf("its values take more than %d MiB: raise --max-memory", u.most>>20)
		}
		if op[0] == '.' {
			return u.pop()
		}
		if err := u.step(op[0]); err != nil {
			return nil, fmt.Errorf("byte %d: %w", u.pos, err)
		}
	}
}

// take reads n bytes, valid until the next call.
func (u *unpickler) take(n int64) ([]byte, error) {
	if n < 0 || n > u.size-u.pos {
		return nil, fmt.Errorf("the pickle is cut, or says it has %d bytes more", n)
	}
	if n > longestText {
		return nil, fmt.Errorf("a text of more than %d MiB", longestText>>20)
	}
	b := u.small[:min(n, int64(len(u.small)))]
	if n > int64(len(b)) {
		b = make([]byte, n)
	}
	if _, err := io.ReadFull(u.in, b); err != nil {
		return nil, fmt.Errorf("the pickle is cut: %w", err)
	}
	u.pos += n
	return b, nil
}

// bytes leaves n bytes where they are.
func (u *unpickler) bytes(n int64) error {
	if n < 0 || n > u.size-u.pos {
		return fmt.Errorf("%d bytes in a file that has %d more", n, u.size-u.pos)
	}
	u.push(span{u.pos, n})
	u.pos += n
	if n > int64(u.in.Buffered()) {
		u.in.Reset(io.NewSectionReader(u.at, u.pos, u.size-u.pos))
		return nil
	}
	_, err := u.in.Discard(int(n))
	return err
}

// number reads a little-endian number of n bytes.
func (u *unpickler) number(n int64) (int64, error) {
	b, err := u.take(n)
	if err != nil {
		return 0, err
	}
	var full [8]byte
	copy(full[:], b)
	return int64(binary.LittleEndian.Uint64(full[:])), nil
}

// text reads a line.
func (u *unpickler) text() (string, error) {
	var line []byte
	for {
		b, err := u.take(1)
		if err != nil || b[0] == '\n' {
			return string(line), err
		}
		if line = append(line, b[0]); len(line) > 1<<12 {
			return "", fmt.Errorf("a line of more than %d bytes", 1<<12)
		}
	}
}

func (u *unpickler) push(v any) {
	u.stack = append(u.stack, v)
	u.held += placeBytes
	if len(u.stack) > deepestStack {
		u.held = math.MaxInt64 / 2
	}
	switch v := v.(type) {
	case int64, float64:
		u.held += numberBytes
	case string:
		u.held += int64(placeBytes + len(v))
	case nil, bool, mark:
	default:
		u.held += objectBytes
	}
}

func (u *unpickler) pop() (any, error) {
	if len(u.stack) == 0 {
		return nil, fmt.Errorf("the stack is empty")
	}
	v := u.stack[len(u.stack)-1]
	u.stack = u.stack[:len(u.stack)-1]
	if v == (any)(mark{}) {
		return nil, fmt.Errorf("a mark where a value belongs")
	}
	return v, nil
}

// popN takes the last n values.
func (u *unpickler) popN(n int) ([]any, error) {
	items := make([]any, n)
	for i := n - 1; i >= 0; i-- {
		v, err := u.pop()
		if err != nil {
			return nil, err
		}
		items[i] = v
	}
	return items, nil
}

// popMark takes what is above the last mark; it is valid until the next push.
func (u *unpickler) popMark() ([]any, error) {
	for i := len(u.stack) - 1; i >= 0; i-- {
		if u.stack[i] == (any)(mark{}) {
			items := u.stack[i+1:]
			u.stack = u.stack[:i]
			return items, nil
		}
	}
	return nil, fmt.Errorf("there is no mark")
}

// long is a whole number of any length; above 64 bits it becomes a float64.
func long(b []byte) any {
	x := new(big.Int)
	for i := len(b) - 1; i >= 0; i-- {
		x.Or(x.Lsh(x, 8), big.NewInt(int64(b[i])))
	}
	if len(b) > 0 && b[len(b)-1]&0x80 != 0 {
		x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	if x.IsInt64() {
		return x.Int64()
	}
	f, _ := new(big.Float).SetInt(x).Float64()
	return f
}

// decimal is a number that is written in digits.
func decimal(text string) (any, error) {
	switch text = strings.TrimSuffix(text, "L"); text {
	case "00":
		return false, nil
	case "01":
		return true, nil
	}
	x, err := strconv.ParseInt(text, 10, 64)
	return x, err
}

// float is the number of eight bytes, the greatest first.
func float(b []byte) float64 { return math.Float64frombits(binary.BigEndian.Uint64(b)) }
