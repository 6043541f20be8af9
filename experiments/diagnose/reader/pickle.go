package reader

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/bits"
	"slices"
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

// newUnpickler reads pickles between two places of a file, whose values may take most bytes.
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

func (u *unpickler) number(n int64) (int64, error) {
	b, err := u.take(n)
	if err != nil {
		return 0, err
	}
	var full [8]byte
	copy(full[:], b)
	return int64(binary.LittleEndian.Uint64(full[:])), nil
}

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

// What an instruction takes before it acts: a number of so many bytes that follow it, so many values of the stack, or those above
// the last mark.
var (
	numberAfter = [256]int64{0x80: 1, 0x95: 8, 'J': 4, 'K': 1, 'M': 2, 'G': 8, 0x8a: 1, 0x8b: 4, 'X': 4, 0x8c: 1, 0x8d: 8, 'U': 1, 'T': 4,
		'B': 4, 'C': 1, 0x8e: 8, 0x96: 8, 'q': 1, 'h': 1, 'r': 4, 'j': 4}
	valuesBefore = [256]int{'2': 1, 'a': 1, 's': 2, 0x85: 1, 0x86: 2, 0x87: 3, 'q': 1, 'r': 1, 0x94: 1, 'Q': 1, 0x93: 2, 'R': 2, 0x81: 2, 'b': 2}
)

const takesMarked = "1teu\x90\x91"

// step does one instruction of the protocols from 2 on. What pickles of these formats do not have is refused: instances of classes,
// extensions, buffers from outside, and the instructions in text of older protocols.
func (u *unpickler) step(op byte) error {
	var n int64
	var items []any
	var err error
	if width := numberAfter[op]; width > 0 {
		n, err = u.number(width)
	}
	if values := valuesBefore[op]; values > 0 && err == nil {
		items, err = u.popN(values)
	} else if strings.IndexByte(takesMarked, op) >= 0 {
		items, err = u.popMark()
	}
	if err != nil {
		return err
	}
	switch op {
	case 0x80, 0x95, '1': // PROTO, FRAME, POP_MARK
	case '(':
		u.push(mark{})
	case '0':
		if len(u.stack) == 0 {
			return fmt.Errorf("the stack is empty")
		}
		u.stack = u.stack[:len(u.stack)-1]
	case '2':
		u.push(items[0])
		u.push(items[0])
	case 'N':
		u.push(nil)
	case 0x88, 0x89:
		u.push(op == 0x88)
	case ']', ')', 0x8f:
		u.push(&list{})
	case '}':
		u.push(&dictionary{})
	case 'J':
		u.push(int64(int32(n)))
	case 'K', 'M':
		u.push(n)
	case 'G': // the greatest byte comes first
		u.push(math.Float64frombits(bits.ReverseBytes64(uint64(n))))
	case 0x8a, 0x8b: // LONG1, LONG4
		if n > 1<<10 {
			return fmt.Errorf("a whole number of %d bytes", n)
		}
		b, err := u.take(n)
		u.push(long(b))
		return err
	case 'B', 'C', 0x8e, 0x96:
		return u.bytes(n)
	case 'X', 0x8c, 0x8d, 'U', 'T':
		b, err := u.take(n)
		u.push(string(b))
		return err
	case 't', 0x85, 0x86, 0x87, 0x91:
		u.push(&list{items: slices.Clone(items)})
	case 'a', 'e', 's', 'u', 0x90:
		return u.fill(op, items)
	case 0x94: // MEMOIZE
		u.remember(int64(len(u.memo)), items[0])
	case 'q', 'r':
		u.remember(n, items[0])
	case 'h', 'j':
		v, known := u.memo[int(n)]
		if !known {
			return fmt.Errorf("nothing is remembered as %d", n)
		}
		u.push(v)
	case 'c':
		module, err := u.text()
		if err != nil {
			return err
		}
		name, err := u.text()
		if err != nil {
			return err
		}
		return u.global(module, name)
	case 'Q':
		u.stored = append(u.stored, &stored{items[0]})
		u.push(u.stored[len(u.stored)-1])
	case 0x93: // STACK_GLOBAL
		module, ok := items[0].(string)
		name, named := items[1].(string)
		if !ok || !named {
			return fmt.Errorf("a global without a name")
		}
		return u.global(module, name)
	case 'b': // BUILD
		if to, ok := items[0].(*built); ok {
			to.state = items[1]
		}
		u.push(items[0])
	case 'R', 0x81:
		return u.call(items[0], items[1])
	default:
		return fmt.Errorf("instruction 0x%02x, which no dump that is known has", op)
	}
	return nil
}

// fill puts entries into the list, the set or the dictionary on the stack.
func (u *unpickler) fill(op byte, items []any) error {
	if len(u.stack) == 0 {
		return fmt.Errorf("nothing to fill")
	}
	switch to := u.stack[len(u.stack)-1].(type) {
	case *list:
		if op == 'a' || op == 'e' || op == 0x90 {
			u.held -= int64(placeBytes * to.extend(items))
			return nil
		}
	case *dictionary:
		if (op == 's' || op == 'u') && len(items)%2 == 0 {
			for i := 0; i < len(items); i += 2 {
				to.keys, to.values = append(to.keys, items[i]), append(to.values, items[i+1])
			}
			return nil
		}
	}
	return fmt.Errorf("entries for something that holds none")
}

// remember notes the value that was taken from the stack, and puts it back.
func (u *unpickler) remember(at int64, v any) {
	u.push(v)
	u.memo[int(at)] = v
	u.held += memoBytes - placeBytes // v was there before
}

// call notes what a global would be applied to.
func (u *unpickler) call(what, with any) error {
	by, ok := what.(global)
	args, filled := with.(*list)
	if !ok || !filled {
		return fmt.Errorf("a call of something that is no global")
	}
	if by.name == "OrderedDict" {
		u.push(&dictionary{})
	} else {
		u.push(&built{by: by, args: args.items})
	}
	return nil
}

// global pushes a global if it is one of those that dumps have.
func (u *unpickler) global(module, name string) error {
	g := global{module, name}
	if !g.known() {
		return &unknownGlobal{g}
	}
	u.push(g)
	return nil
}

// What values of a pickle take in memory: a place on the stack or in a list, a number after it, anything that has
// parts, and an entry of the memo.
const (
	placeBytes  = 16
	numberBytes = 8
	objectBytes = 64
	memoBytes   = 48
)

// list is a list, a tuple or a set. A list that a pickle fills with whole numbers alone, or with others alone, holds them
// as numbers, in a third of the memory.
type list struct {
	items   []any
	numbers []float64 // where there are no items
	whole   bool      // the numbers are whole
}

func (l *list) len() int {
	if l == nil {
		return 0
	}
	return len(l.items) + len(l.numbers)
}

func (l *list) at(i int) any {
	switch {
	case l.items != nil:
		return l.items[i]
	case l.whole:
		return int64(l.numbers[i])
	}
	return l.numbers[i]
}

// extend puts entries after those of a list; folded is how many of them it holds as numbers.
func (l *list) extend(items []any) (folded int) {
	if l.items == nil && len(items) > 0 {
		_, whole := items[0].(int64)
		if (len(l.numbers) == 0 || l.whole == whole) && l.fold(items, whole) {
			l.whole = whole
			return len(items)
		}
		before := make([]any, 0, len(l.numbers)+len(items))
		for i := range l.numbers {
			before = append(before, l.at(i))
		}
		l.items, l.numbers = before, nil
	}
	l.items = append(l.items, items...)
	return 0
}

// fold puts entries after the numbers, if all of them are of the kind that these are.
func (l *list) fold(items []any, whole bool) bool {
	before := len(l.numbers)
	for _, item := range items {
		x, fraction := item.(float64)
		if n, ok := item.(int64); ok && n >= -exact && n <= exact {
			x, fraction = float64(n), false
		} else if !fraction {
			l.numbers = l.numbers[:before]
			return false
		}
		if fraction == whole {
			l.numbers = l.numbers[:before]
			return false
		}
		l.numbers = append(l.numbers, x)
	}
	return true
}

// batches are the classes of SkyRL, which has moved them between modules.
var batches = []string{"_rebuild_tensor_batch", "TrainingInputBatch", "TensorBatch"}

func (g global) known() bool {
	if strings.HasPrefix(g.module, "skyrl") && strings.HasSuffix(g.module, "training_batch") {
		return slices.Contains(batches, g.name)
	}
	return slices.Contains(shipped.Globals[g.module], g.name)
}

// unknownGlobal is a pickle that names something else.
type unknownGlobal struct{ global }

// Error names it.
func (u *unknownGlobal) Error() string {
	return "it wants to call " + u.module + "." + u.name + ", which no dump that is known needs"
}
