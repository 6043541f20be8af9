package reader

import (
	"archive/zip"
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"driftlab/model/safetensors"
)

// archive is what torch.save writes: a pickle, and numbers in storages.
type archive struct {
	root    any
	storage map[string]span // by its name in the file, which is its key after data
	data    string
	at      io.ReaderAt
	left    int // entries that may still be read: what the file has, once
}

// openArchive reads the pickle of a torch file: a zip, or what torch wrote before 1.6.
func openArchive(at io.ReaderAt, size, most int64) (*archive, error) {
	a := &archive{storage: map[string]span{}, at: at, left: int(size)}
	if beginsAs(at, span{0, size}, legacyMagic) {
		return a, a.legacy(size, most)
	}
	z, err := zip.NewReader(&frugal{at, directoryBytes}, size)
	if err != nil {
		return nil, err
	}
	folder := ""
	for _, f := range z.File {
		if f.Method != zip.Store || f.UncompressedSize64 > uint64(size) {
			return nil, fmt.Errorf("%s is compressed, or longer than the file: torch.save stores its entries as they are", f.Name)
		}
		from, err := f.DataOffset()
		if err != nil {
			return nil, err
		}
		here := span{from, int64(f.UncompressedSize64)}
		if here.n > size-from {
			return nil, fmt.Errorf("%s is longer than the file", f.Name)
		}
		if name, ok := strings.CutSuffix(f.Name, "data.pkl"); ok && strings.Count(name, "/") <= 1 {
			folder = name
		}
		a.storage[f.Name] = here
	}
	pickle, found := a.storage[folder+"data.pkl"]
	if !found {
		return nil, fmt.Errorf("there is no data.pkl in it")
	}
	a.data = folder + "data/"
	if order, ok := a.storage[folder+"byteorder"]; ok && beginsAs(at, order, "big") {
		return nil, fmt.Errorf("its numbers are big-endian")
	}
	u := newUnpickler(at, pickle.from, pickle.from+pickle.n, most)
	a.root, err = u.value()
	return a, err
}

// legacyMagic begins the files of torch before 1.6: a pickle of a number that
// stands for the format.
const legacyMagic = "\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."

// legacy reads the pickles that follow the magic number: the version of the protocol,
// what the machine was, the root, and the keys of the storages, which stand after
// them in that order, each after its length.
func (a *archive) legacy(size, most int64) error {
	u := newUnpickler(a.at, int64(len(legacyMagic)), size, most)
	var values [4]any
	for i := range values {
		var err error
		if values[i], err = u.value(); err != nil {
			return err
		}
	}
	if version := whole(values[0]); version != 1001 {
		return fmt.Errorf("version %d of torch's old format: 1001 is known", version)
	}
	if machine, ok := values[1].(*dictionary); ok && machine.get("little_endian") == false {
		return fmt.Errorf("its numbers are big-endian")
	}
	a.root = values[2]
	kinds := map[string]string{}
	for _, s := range u.stored {
		if kind, key, ok := s.storage(); ok {
			if parts := s.id.(*list).items; len(parts) > 5 && parts[5] != nil {
				return fmt.Errorf("a storage that is a view of another")
			}
			kinds[key] = kind
		}
	}
	keys, _ := values[3].(*list)
	if keys == nil {
		return fmt.Errorf("there is no list of storages in it")
	}
	pos := u.pos
	for _, k := range keys.items {
		var count [8]byte
		if n, _ := a.at.ReadAt(count[:], pos); n < len(count) {
			return fmt.Errorf("it is cut among its storages")
		}
		key, _ := k.(string)
		n, each := int64(binary.LittleEndian.Uint64(count[:])), int64(elements[kinds[key]].size)
		if each == 0 || n < 0 || n > (size-pos-8)/each {
			return fmt.Errorf("a storage of %d entries at byte %d, where the file has %d bytes more", n, pos, size-pos-8)
		}
		a.storage[key] = span{pos + 8, n * each}
		pos += 8 + n*each
	}
	return nil
}

// storage is the type and the key of a storage, by what names it: a tuple of the word storage, the type, the key and more.
func (s *stored) storage() (kind, key string, ok bool) {
	if s == nil {
		return "", "", false
	}
	parts, tuple := s.id.(*list)
	if !tuple || len(parts.items) < 3 {
		return "", "", false
	}
	by, _ := parts.items[1].(global)
	key, _ = parts.items[2].(string)
	return by.name, key, true
}

// column is a list of numbers or a tensor as numbers, nil for none.
func (a *archive) column(v any) ([]float64, error) {
	var x []float64
	switch v := v.(type) {
	case nil:
		return nil, nil
	case *list:
		x = v.numbers
		for _, item := range v.items {
			n, ok := number(item)
			if !ok {
				return nil, fmt.Errorf("%T among numbers", item)
			}
			x = append(x, n)
		}
		if x == nil {
			x = []float64{}
		}
	case *built:
		t, err := a.tensor(v)
		if err != nil {
			return nil, err
		}
		if a.left < t.entries {
			return nil, fmt.Errorf("its samples have more entries than the file has bytes")
		}
		if x, err = t.read(0, t.entries); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("%T where a column belongs", v)
	}
	if a.left -= len(x); a.left < 0 {
		return nil, fmt.Errorf("its samples have more entries than the file has bytes")
	}
	return x, nil
}

// tensor is what _rebuild_tensor_v2 is applied to: storage, offset, size, stride.
func (a *archive) tensor(b *built) (*tensor, error) {
	if b.by.name != "_rebuild_tensor_v2" || len(b.args) < 4 {
		return nil, fmt.Errorf("%s where a tensor belongs", b.by.name)
	}
	from, _ := b.args[0].(*stored)
	offset, whole := b.args[1].(int64)
	kind, key, ok := from.storage()
	if !ok || !whole {
		return nil, fmt.Errorf("a tensor without a storage")
	}
	shape, err := shapeOf(b.args[2])
	if err != nil {
		return nil, err
	}
	stride, err := shapeOf(b.args[3])
	if err != nil {
		return nil, err
	}
	next := 1
	for i := len(shape) - 1; i >= 0; i-- {
		if i >= len(stride) || stride[i] != next && shape[i] > 1 {
			return nil, fmt.Errorf("a tensor that is not contiguous")
		}
		next *= max(shape[i], 1)
	}
	s, there := a.storage[a.data+key]
	if !there {
		return nil, fmt.Errorf("there is no storage %q", key)
	}
	skip := offset * int64(elements[kind].size)
	if offset < 0 || skip < 0 || skip > s.n {
		return nil, fmt.Errorf("a tensor that begins behind its storage")
	}
	return newTensor(a.at, s.from+skip, s.n-skip, kind, shape)
}

// number is a value as a number; None is NaN.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case nil:
		return nan, true
	case int64:
		return float64(v), true
	case float64:
		return v, true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

// whole is a value as a whole number, Unknown if it is none.
func whole(v any) int {
	if x, ok := number(v); ok && x == float64(int32(x)) {
		return int(x)
	}
	return Unknown
}

// beginsAs reports whether a span of a file begins with these bytes.
func beginsAs(at io.ReaderAt, s span, head string) bool {
	b := make([]byte, len(head))
	n, _ := at.ReadAt(b, s.from)
	return n == len(b) && string(b) == head && binary.Size(b) <= int(s.n)
}

// element is a type of entries: their size in bytes and how to read one.
type element struct {
	size int
	read func([]byte) float64
}

// elements are named as numpy and torch name dtypes, and as torch names storages.
var elements = func() map[string]element {
	le := binary.LittleEndian
	table := map[string]element{
		"float32": {4, func(b []byte) float64 { return float64(math.Float32frombits(le.Uint32(b))) }},
		"float64": {8, func(b []byte) float64 { return math.Float64frombits(le.Uint64(b)) }},
		"float16": {2, func(b []byte) float64 { return float64(safetensors.FromHalf(le.Uint16(b))) }},
		// The upper half of a float32.
		"bfloat16": {2, func(b []byte) float64 { return float64(math.Float32frombits(uint32(le.Uint16(b)) << 16)) }},
		"int64":    {8, func(b []byte) float64 { return float64(int64(le.Uint64(b))) }},
		"int32":    {4, func(b []byte) float64 { return float64(int32(le.Uint32(b))) }},
		"int16":    {2, func(b []byte) float64 { return float64(int16(le.Uint16(b))) }},
		"int8":     {1, func(b []byte) float64 { return float64(int8(b[0])) }},
		"uint8":    {1, func(b []byte) float64 { return float64(b[0]) }},
		"bool":     {1, func(b []byte) float64 { return float64(min(b[0], 1)) }},
	}
	for other, name := range map[string]string{
		"FloatStorage": "float32", "DoubleStorage": "float64", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
		"LongStorage": "int64", "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8", "ByteStorage": "uint8", "BoolStorage": "bool",
		"f4": "float32", "f8": "float64", "f2": "float16", "i8": "int64", "i4": "int32", "i2": "int16", "i1": "int8", "u1": "uint8", "b1": "bool",
	} {
		table[other] = table[name]
	}
	return table
}()

// tensor is an array in a file, in the order of its entries. Nothing of it is read
// before it is wanted.
type tensor struct {
	shape   []int
	entries int
	kind    element
	at      io.ReaderAt
	from    int64
}

// newTensor checks that the file has what the shape promises.
func newTensor(at io.ReaderAt, from, size int64, kind string, shape []int) (*tensor, error) {
	e, ok := elements[kind]
	if !ok {
		return nil, fmt.Errorf("a tensor of %q, which is not known", kind)
	}
	need := int64(e.size)
	for _, n := range shape {
		if n < 0 || n > 0 && need > size/int64(n) {
			return nil, fmt.Errorf("a tensor of shape %v in %d bytes", shape, size)
		}
		need *= int64(n)
	}
	if from < 0 || need > size {
		return nil, fmt.Errorf("a tensor of shape %v in %d bytes", shape, size)
	}
	return &tensor{shape, int(need) / e.size, e, at, from}, nil
}

// read returns n entries from one on.
func (t *tensor) read(from, n int) ([]float64, error) {
	if n > rowTokens {
		return nil, fmt.Errorf("a column of %d entries: at most %d can be read", n, rowTokens)
	}
	raw := make([]byte, n*t.kind.size)
	if _, err := t.at.ReadAt(raw, t.from+int64(from*t.kind.size)); err != nil && err != io.EOF {
		return nil, fmt.Errorf("a tensor is cut: %w", err)
	}
	x := make([]float64, n)
	for i := range x {
		x[i] = t.kind.read(raw[i*t.kind.size:])
	}
	return x, nil
}

func shapeOf(v any) ([]int, error) {
	l, ok := v.(*list)
	if !ok || l.len() > 8 {
		return nil, fmt.Errorf("a tensor without a shape")
	}
	shape := make([]int, l.len())
	for i := range shape {
		n, ok := l.at(i).(int64)
		if !ok || n < 0 || n > math.MaxInt32 {
			return nil, fmt.Errorf("a tensor whose size is no whole number")
		}
		shape[i] = int(n)
	}
	return shape, nil
}

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
	// built is what a global would have made of arguments.
	built struct {
		by   global
		args []any
	}
	// stored is what persistent_load would have made of its argument.
	stored struct{ id any }
	mark   struct{}
)

// get is the value of a key, nil where there is none, or no dictionary.
func (d *dictionary) get(key string) any {
	if d == nil {
		return nil
	}
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
// and its arguments stay as they are.
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

func (u *unpickler) popN(n int) (items []any, err error) {
	items = make([]any, n)
	for i := n - 1; i >= 0 && err == nil; i-- {
		items[i], err = u.pop()
	}
	return items, err
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
	slices.Reverse(b)
	x := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0]&0x80 != 0 {
		x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	if x.IsInt64() {
		return x.Int64()
	}
	f, _ := new(big.Float).SetInt(x).Float64()
	return f
}

// What an instruction takes before it acts: a number of n bytes that follow it, n values of the stack, or those above
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
	case 'b': // BUILD, whose state says nothing of a tensor
		u.push(items[0])
	case 'R', 0x81: // what a global would be applied to is noted
		by, ok := items[0].(global)
		args, filled := items[1].(*list)
		switch {
		case !ok || !filled:
			return fmt.Errorf("a call of something that is no global")
		case by.name == "OrderedDict":
			u.push(&dictionary{})
		default:
			u.push(&built{by: by, args: args.items})
		}
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

// global pushes a global if it is one of those that dumps have.
func (u *unpickler) global(module, name string) error {
	g, known := global{module, name}, shipped.Globals[module]
	if strings.HasPrefix(module, "skyrl") && strings.HasSuffix(module, "training_batch") {
		known = batches
	}
	if !slices.Contains(known, name) {
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
		x, ok := item.(float64)
		if whole {
			var n int64
			n, ok = item.(int64)
			x, ok = float64(n), ok && n >= -exact && n <= exact
		}
		if !ok {
			l.numbers = l.numbers[:before]
			return false
		}
		l.numbers = append(l.numbers, x)
	}
	return true
}

// batches are the classes of SkyRL, which has moved them between modules.
var batches = []string{"_rebuild_tensor_batch", "TrainingInputBatch", "TensorBatch"}

// unknownGlobal is a pickle that names something else.
type unknownGlobal struct{ global }

// Error names it.
func (u *unknownGlobal) Error() string {
	return "it wants to call " + u.module + "." + u.name + ", which no dump that is known needs"
}

// readTorch reads slime's and miles' files. Their train_data hold both engines'
// log-probs of the response only: slime's as samples, miles' as columns of a rank;
// rollout_data has those of the rollout engine and the versions; miles'
// policy_loss_debug has old and new, and no tokens.
//
// Source: slime 624b824a8, slime/observability/train_data_utils.py and slime/ray/rollout.py; miles 31f1ca961,
// miles/utils/train_dump_utils.py and miles/backends/training_utils/debug_dump.py.
func (f *File) readTorch(in Input, visit func(*Row) error) error {
	a, err := openArchive(in.At, in.Size, in.most().pickled)
	if err != nil {
		return refuse(in.Name, err)
	}
	root, ok := a.root.(*dictionary)
	samples, listed := root.get("samples").(*list)
	columns, columned := root.get("rollout_data").(*dictionary)
	format, count, at := formatOf("slime"), samples.len(), func(i int) any { return samples.at(i) }
	switch {
	case ok && !listed && columned:
		format = formatOf("miles")
		if n := whole(root.get("cp_size")); n > 1 {
			return &Refused{in.Name, fmt.Sprintf("the columns of one of %d ranks of context parallelism, each of which has a part of the tokens", n), "--dump-details without context parallelism writes whole responses"}
		}
		lengths, _ := columns.get("response_lengths").(*list)
		f.unreadOf(columns, format)
		count, at = lengths.len(), func(i int) any { return columns.entry(i, lengths.len()) }
	case !ok || !listed:
		return &Refused{in.Name, "a torch file without samples", "slime's and miles' train_data and rollout_data and miles' policy_loss_debug can be read"}
	case root.get("call") != nil:
		format = formatOf("miles")
	}
	f.Format = format.Name
	var generated map[int]*Row
	if f.Format == "slime" {
		generated = f.rollout(in, whole(root.get("rollout_id")))
	}
	rewards, _ := root.get("raw_reward").(*list)
	defer func() { f.noteUnread(format.names()) }()
	var last *dictionary
	for i := range count {
		var row Row
		row.reset()
		row.Line, row.Step = i+1, whole(root.get("rollout_id"))
		sample, ok := at(i).(*dictionary)
		if !ok {
			f.damage(i+1, 0, "no sample")
			continue
		}
		if err := row.sample(a, sample, format); err != nil {
			f.damage(i+1, 0, err.Error())
			continue
		}
		if sample != last { // references to one sample cost nothing
			f.unreadOf(sample, format)
			last = sample
		}
		row.join(generated[row.Index])
		if at := whole(sample.get("rollout_position")); rewards != nil && at >= 0 && at < rewards.len() {
			row.Reward, _ = number(rewards.at(at))
		}
		if err := f.send(&row, visit); err != nil {
			return err
		}
	}
	return nil
}

func (d *dictionary) entry(i, n int) *dictionary {
	sample := &dictionary{}
	for _, k := range formatOf("slime").keys {
		for _, name := range k.names {
			if l, ok := d.get(name).(*list); ok && l.len() == n {
				sample.keys, sample.values = append(sample.keys, name), append(sample.values, l.at(i))
			}
		}
	}
	return sample
}

// rollout is what only slime's rollout_data has of the samples of a train_data: versions and the rollout engine's log-probs; nil if there
// is none.
func (f *File) rollout(in Input, id int) map[int]*Row {
	if in.Open == nil || id == Unknown {
		return nil
	}
	at, size, err := in.Open(fmt.Sprintf("../rollout_data/%d.pt", id))
	if err != nil {
		return nil
	}
	defer at.Close()
	found, left := map[int]*Row{}, in.most().joined
	err = new(File).read(Input{Name: "rollout_data", At: at, Size: size, MaxMemory: in.MaxMemory}, "", func(r *Row) error {
		if left -= 8 + len(r.Roll); left < 0 {
			return errStopped
		}
		if r.Index != Unknown {
			found[r.Index] = &Row{Head: r.Head, Tail: r.Tail, Roll: r.Roll}
		}
		return nil
	})
	if err != nil || len(found) == 0 {
		f.Notes = append(f.Notes, "rollout_data of this step could not be read: versions are unknown")
		return nil
	}
	f.Notes = append(f.Notes, fmt.Sprintf("versions of %d samples are from rollout_data/%d.pt", len(found), id))
	return found
}

// join fills what the row itself does not have, from another of the same response.
func (r *Row) join(other *Row) {
	if other == nil {
		return
	}
	if r.Tail == Unknown {
		r.Head, r.Tail = other.Head, other.Tail
	}
	if r.Roll == nil && len(other.Roll) == len(r.Mask) {
		r.Roll = other.Roll
	}
}

// refuse says why a pickle is not read.
func refuse(name string, err error) error {
	fix := "write it again, or convert it into the neutral format"
	if errors.As(err, new(*unknownGlobal)) {
		fix = "it may do harm when it is loaded: convert it where you trust it"
	}
	return &Refused{name, err.Error(), fix}
}

// of is the entry of a key of a format, under whichever name the dictionary has it.
func (f *Format) of(d *dictionary, key string) (name string, value any) {
	names := f.keys[f.place[key]].names
	for _, name := range names {
		if v := d.get(name); v != nil {
			return name, v
		}
	}
	return names[0], nil
}

// sample fills the row of a sample of train_data, rollout_data or policy_loss_debug, whose columns are of the response alone.
func (r *Row) sample(a *archive, d *dictionary, f *Format) error {
	value := func(key string) any { _, v := f.of(d, key); return v }
	called := func(key string) string { name, _ := f.of(d, key); return name }
	c := named{}
	for _, key := range []string{"token_ids", "mask", "logp_rollout", "logp_old", "logp_new", "logp_ref", "logp_teacher", "entropy", "advantage"} {
		x, err := a.column(value(key))
		if err != nil {
			return fmt.Errorf("%s: %w", called(key), err)
		}
		c[key] = x
	}
	n := whole(value("length"))
	switch {
	case c["token_ids"] == nil && c["mask"] != nil:
		n = len(c["mask"])
	case n == Unknown:
		return errors.New("a sample with no response length")
	case n < 0 || n > len(c["token_ids"]):
		return fmt.Errorf("a response of %d among %d tokens", n, len(c["token_ids"]))
	}
	r.Index, r.Group = whole(value("index")), whole(value("group"))
	r.Reward, _ = number(value("reward"))
	reason, _ := value("finish_reason").(string)
	truncated, known := number(value("truncated"))
	if !known {
		truncated = nan
	}
	r.Finish = finish(reason, truncated)
	if versions, ok := value("version").(*list); ok {
		if a.left -= len(versions.items); a.left < 0 {
			return fmt.Errorf("its samples have more entries than the file has bytes")
		}
		for _, v := range versions.items {
			text, _ := v.(string)
			if version, err := strconv.Atoi(text); err == nil {
				if r.Head == Unknown {
					r.Head, r.Tail = version, version
				}
				r.Head, r.Tail = min(r.Head, version), max(r.Tail, version)
			}
		}
	}
	if err := r.fill(sequence{n: n, to: n, column: c.column, called: called}); err != nil {
		return err
	}
	offsets, err := a.column(value("topk_offsets"))
	r.heads(func(key string) *cell {
		if _, known := f.place[key]; !known {
			return &nothing
		}
		list, fault := a.column(value(key))
		return &cell{key: called(key), number: list, ends: listEnds(len(list), n, offsets), present: list != nil || cmp.Or(err, fault) != nil}
	}, n)
	return nil
}

// listEnds are where the lists of n tokens end in one after the other of that many entries: by the offsets of their beginnings, or all of one length;
// nil where they do not fit. Offsets are of what sampling kept, not of the likeliest tokens, as many of each.
//
// Source: miles, miles/ray/rollout/train_data_conversion.py; vime, tests/test_score_centering.py.
func listEnds(entries, n int, offsets []float64) (ends []int) {
	if len(offsets) == n+1 && offsets[0] == 0 && offsets[n] == float64(entries) {
		for _, x := range offsets[1:] {
			if last := len(ends) - 1; x != math.Trunc(x) || last >= 0 && x < float64(ends[last]) || x < 0 {
				return nil
			}
			ends = append(ends, int(x))
		}
		return ends
	}
	for token := range n {
		if entries == 0 || entries%n != 0 {
			return nil
		}
		ends = append(ends, (token+1)*(entries/n))
	}
	return ends
}

// readPickle reads SkyRL's global_step_{N}_training_input.pkl: a tensor batch,
// padded on the left, so that token j of a response of width R is column S-R+j of
// the sequences. What stands left of a response is arbitrary. base_action_log_probs
// are the reference model's.
//
// Source: SkyRL, skyrl/backends/skyrl_train/training_batch.py.
func (f *File) readPickle(in Input, visit func(*Row) error) error {
	root, err := newUnpickler(in.At, 0, in.Size, in.most().pickled).value()
	if err != nil {
		return refuse(in.Name, err)
	}
	b, ok := root.(*built)
	if !ok || b.by.name != "_rebuild_tensor_batch" || len(b.args) != 2 {
		return &Refused{in.Name, "a pickle that is no tensor batch of SkyRL", "other pickles must be converted into the neutral format"}
	}
	state, ok := b.args[1].(*dictionary)
	batch, filled := state.get("batch_dict").(*dictionary)
	if !ok || !filled {
		return &Refused{in.Name, "a tensor batch without batch_dict", "write it again"}
	}
	f.Format = "skyrl"
	s := skyrl{in: in, batch: batch, group: map[int]int{}}
	if err := s.open(); err != nil {
		return &Refused{in.Name, err.Error(), "write it again"}
	}
	metadata, _ := state.get("metadata").(*dictionary)
	s.groups(metadata)
	f.unreadOf(batch, formatOf("skyrl"))
	f.noteUnread(formatOf("skyrl").names())
	for i := range s.rows {
		var row Row
		row.reset()
		row.Line, row.Step = i+1, whole(metadata.get("global_step"))
		if err := s.row(i, &row); err != nil {
			f.damage(i+1, 0, err.Error())
			continue
		}
		if err := f.send(&row, visit); err != nil {
			return err
		}
	}
	return nil
}

// skyrl is a tensor batch. token_ids and attention_mask are B by S, the other tensors B by R.
type skyrl struct {
	in                Input
	batch             *dictionary
	tensors           map[string]*tensor // by the keys of the format
	rows, wide, width int
	group             map[int]int
}

// open finds the tensors, and checks that they fit each other.
func (s *skyrl) open() error {
	s.tensors = map[string]*tensor{}
	for _, k := range formatOf("skyrl").keys {
		t, err := s.tensor(s.batch.get(k.names[0]))
		if err != nil {
			return fmt.Errorf("%s: %w", k.names[0], err)
		}
		if t != nil && len(t.shape) != 2 {
			return fmt.Errorf("%s: a tensor of shape %v where rows belong", k.names[0], t.shape)
		}
		if t != nil {
			s.tensors[k.name] = t
		}
	}
	ids, mask := s.tensors["token_ids"], s.tensors["mask"]
	if ids == nil || mask == nil {
		return fmt.Errorf("there are no sequences or no loss_mask")
	}
	s.rows, s.wide, s.width = mask.shape[0], ids.shape[1], mask.shape[1]
	if s.width == 0 || s.wide > rowTokens {
		return fmt.Errorf("sequences of %d tokens with responses of %d: from 1 to %d can be read", s.wide, s.width, rowTokens)
	}
	for _, k := range formatOf("skyrl").keys {
		width := s.width
		if k.name == "token_ids" || k.name == "attention_mask" {
			width = s.wide
		}
		if t := s.tensors[k.name]; t != nil && (t.shape[0] != s.rows || t.shape[1] != width) || s.wide < s.width {
			return fmt.Errorf("%s of %v does not fit sequences of %v and responses of %v", k.names[0], t.shape, ids.shape, mask.shape)
		}
	}
	return nil
}

// tensor is an entry of the batch: {format: numpy, data, shape, dtype}, or
// {format: torch, data} with the bytes of torch.save; nil for None.
func (s *skyrl) tensor(v any) (*tensor, error) {
	d, ok := v.(*dictionary)
	if !ok {
		if v == nil {
			return nil, nil
		}
		return nil, fmt.Errorf("%T where a tensor belongs", v)
	}
	data, ok := d.get("data").(span)
	if !ok {
		return nil, fmt.Errorf("a tensor without data")
	}
	if d.get("format") != "torch" {
		kind, _ := d.get("dtype").(string)
		shape, err := shapeOf(d.get("shape"))
		if err != nil {
			return nil, err
		}
		return newTensor(s.in.At, data.from, data.n, kind, shape)
	}
	if !beginsAs(s.in.At, data, "PK") {
		return nil, fmt.Errorf("a tensor of torch that is no torch file")
	}
	a, err := openArchive(io.NewSectionReader(s.in.At, data.from, data.n), data.n, s.in.most().pickled/8) // one of eight
	if err != nil {
		return nil, err
	}
	b, ok := a.root.(*built)
	if !ok {
		return nil, fmt.Errorf("a torch file without a tensor")
	}
	return a.tensor(b)
}

func (s *skyrl) groups(metadata *dictionary) {
	bounds, _ := metadata.get("policy_prompt_boundaries").(*list)
	if bounds == nil {
		return
	}
	next := 0 // groups follow each other
	for g, v := range bounds.items {
		if pair, ok := v.(*list); ok && pair.len() == 2 {
			for next = max(whole(pair.at(0)), next); next < min(whole(pair.at(1)), s.rows); next++ {
				s.group[next] = g
			}
		}
	}
}

func (s *skyrl) row(i int, row *Row) error {
	c := named{}
	for key, t := range s.tensors {
		x, err := t.read(i*t.shape[1], t.shape[1])
		if err == nil { // newTensor has seen that it is there
			c[key] = x
		}
	}
	response := c["response_mask"]
	if response == nil {
		response = c["mask"]
	}
	first := 0
	for first < s.width && response[first] == 0 {
		first++
	}
	lead := s.wide - s.width // of the sequences before the columns of the response
	prompt := 0
	for attention := c["attention_mask"]; attention != nil && prompt < lead+first && attention[prompt] == 0; {
		prompt++
	}
	if g, ok := s.group[i]; ok {
		row.Group = g
	}
	for key, x := range c {
		if len(x) == s.width && key != "token_ids" {
			c[key] = x[first:]
		}
	}
	c["token_ids"] = c["token_ids"][prompt:]
	return row.fill(sequence{n: s.width - first, to: s.width - first, column: c.column, called: formatOf("skyrl").own})
}
