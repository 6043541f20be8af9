package reader

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/big"
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

// float is the number of eight bytes, the greatest first.
func float(b []byte) float64 { return math.Float64frombits(binary.BigEndian.Uint64(b)) }

// step does one instruction of the protocols from 2 on. What pickles of these formats do not have is refused: instances of classes,
// extensions, buffers from outside, and the instructions in text of older protocols.
func (u *unpickler) step(op byte) error {
	switch op {
	case 0x80: // PROTO
		_, err := u.take(1)
		return err
	case 0x95: // FRAME
		_, err := u.take(8)
		return err
	case '(':
		u.push(mark{})
	case '0':
		if len(u.stack) == 0 {
			return fmt.Errorf("the stack is empty")
		}
		u.stack = u.stack[:len(u.stack)-1]
	case '1':
		_, err := u.popMark()
		return err
	case '2':
		v, err := u.pop()
		u.push(v)
		u.push(v)
		return err
	case 'N':
		u.push(nil)
	case 0x88, 0x89:
		u.push(op == 0x88)
	case ']', ')', 0x8f:
		u.push(&list{})
	case '}':
		u.push(&dictionary{})
	case 'J', 'K', 'M', 'G', 0x8a, 0x8b:
		return u.numeric(op)
	case 'X', 0x8c, 0x8d, 'U', 'T', 'B', 'C', 0x8e, 0x96:
		return u.textual(op)
	case 't', 'a', 'e', 's', 'u', 0x85, 0x86, 0x87, 0x90, 0x91:
		return u.collect(op)
	case 'q', 'h', 'r', 'j', 0x94:
		return u.remember(op)
	case 'c', 0x93, 'R', 0x81, 'b', 'Q':
		return u.build(op)
	default:
		return fmt.Errorf("instruction 0x%02x, which no dump that is known has", op)
	}
	return nil
}

func (u *unpickler) numeric(op byte) error {
	switch op {
	case 'G':
		b, err := u.take(8)
		if err == nil {
			u.push(float(b))
		}
		return err
	case 0x8a, 0x8b: // LONG1, LONG4
		n, err := u.number(map[byte]int64{0x8a: 1, 0x8b: 4}[op])
		if err != nil {
			return err
		}
		if n > 1<<10 {
			return fmt.Errorf("a whole number of %d bytes", n)
		}
		b, err := u.take(n)
		u.push(long(b))
		return err
	}
	n, err := u.number(map[byte]int64{'J': 4, 'K': 1, 'M': 2}[op])
	if op == 'J' {
		n = int64(int32(n))
	}
	u.push(n)
	return err
}

// textual pushes a text, or the place of bytes.
func (u *unpickler) textual(op byte) error {
	n, err := u.number(map[byte]int64{'X': 4, 0x8c: 1, 0x8d: 8, 'U': 1, 'T': 4, 'B': 4, 'C': 1, 0x8e: 8, 0x96: 8}[op])
	if err != nil {
		return err
	}
	switch op {
	case 'B', 'C', 0x8e, 0x96:
		return u.bytes(n)
	}
	b, err := u.take(n)
	u.push(string(b))
	return err
}

// collect makes and fills lists, tuples, sets and dictionaries.
func (u *unpickler) collect(op byte) error {
	var items []any
	var err error
	switch op {
	case 0x85, 0x86, 0x87:
		items, err = u.popN(int(op - 0x84))
	case 'a':
		items, err = u.popN(1)
	case 's':
		items, err = u.popN(2)
	default:
		items, err = u.popMark()
	}
	if err != nil {
		return err
	}
	switch op {
	case 't', 0x85, 0x86, 0x87, 0x91:
		u.push(&list{items: slices.Clone(items)})
		return nil
	}
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

func (u *unpickler) remember(op byte) error {
	at, read := int64(len(u.memo)), false
	var err error
	switch op {
	case 'q', 'h':
		at, err = u.number(1)
		read = op == 'h'
	case 'r', 'j':
		at, err = u.number(4)
		read = op == 'j'
	}
	if err != nil {
		return err
	}
	if read {
		v, known := u.memo[int(at)]
		if !known {
			return fmt.Errorf("nothing is remembered as %d", at)
		}
		u.push(v)
		return nil
	}
	v, err := u.pop()
	if err == nil {
		u.push(v)
		u.memo[int(at)] = v
		u.held += memoBytes - placeBytes // v was there before
	}
	return err
}

// build names globals and notes what they would be applied to.
func (u *unpickler) build(op byte) error {
	switch op {
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
		v, err := u.pop()
		u.stored = append(u.stored, &stored{v})
		u.push(u.stored[len(u.stored)-1])
		return err
	}
	two, err := u.popN(2)
	if err != nil {
		return err
	}
	switch op {
	case 0x93: // STACK_GLOBAL
		module, ok := two[0].(string)
		name, named := two[1].(string)
		if !ok || !named {
			return fmt.Errorf("a global without a name")
		}
		return u.global(module, name)
	case 'b': // BUILD
		if to, ok := two[0].(*built); ok {
			to.state = two[1]
		}
		u.push(two[0])
		return nil
	}
	by, ok := two[0].(global)
	args, filled := two[1].(*list)
	if !ok || !filled {
		return fmt.Errorf("a call of something that is no global")
	}
	if by.name == "OrderedDict" {
		u.push(&dictionary{})
		return nil
	}
	u.push(&built{by: by, args: args.items})
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
