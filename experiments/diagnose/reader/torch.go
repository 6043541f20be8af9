package reader

import (
	"archive/zip"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"
)

// archive is what torch.save writes: a pickle, and numbers in storages.
type archive struct {
	root    any
	storage map[string]span // by its key
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
	entries := map[string]span{}
	var pickle *span
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
			pickle, folder = &here, name
		}
		entries[f.Name] = here
	}
	if pickle == nil {
		return nil, fmt.Errorf("there is no data.pkl in it")
	}
	for name, s := range entries { // into a table
		if key, ok := strings.CutPrefix(name, folder+"data/"); ok {
			a.storage[key] = s
		}
	}
	if order, ok := entries[folder+"byteorder"]; ok && beginsAs(at, order, "big") {
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
		if parts, ok := s.id.(*list); ok && len(parts.items) >= 3 {
			if len(parts.items) > 5 && parts.items[5] != nil {
				return fmt.Errorf("a storage that is a view of another")
			}
			kind, _ := parts.items[1].(global)
			key, _ := parts.items[2].(string)
			kinds[key] = kind.name
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

// column is a list of numbers or a tensor as numbers, nil for none.
func (a *archive) column(v any) ([]float64, error) {
	var x []float64
	switch v := v.(type) {
	case nil:
		return nil, nil
	case *list:
		if v.items == nil && v.numbers != nil {
			x = v.numbers
			break
		}
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
		if a.left < t.entries() {
			return nil, fmt.Errorf("its samples have more entries than the file has bytes")
		}
		if x, err = t.read(0, t.entries()); err != nil {
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
	from, ok := b.args[0].(*stored)
	offset, whole := b.args[1].(int64)
	id, tuple := any(nil), false
	if ok {
		id = from.id
	}
	parts, tuple := id.(*list)
	if !tuple || !whole || len(parts.items) < 3 {
		return nil, fmt.Errorf("a tensor without a storage")
	}
	kind, _ := parts.items[1].(global)
	key, _ := parts.items[2].(string)
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
	s, there := a.storage[key]
	if !there {
		return nil, fmt.Errorf("there is no storage %q", key)
	}
	skip := offset * int64(elements[kind.name].size)
	if offset < 0 || skip < 0 || skip > s.n {
		return nil, fmt.Errorf("a tensor that begins behind its storage")
	}
	return newTensor(a.at, s.from+skip, s.n-skip, kind.name, shape)
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
		"float16": {2, func(b []byte) float64 { return half(le.Uint16(b)) }},
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

func half(b uint16) float64 {
	exponent, mantissa := int(b>>10&31), float64(b&1023)
	x := math.Ldexp(mantissa, -24)
	switch {
	case exponent == 31 && mantissa == 0:
		x = math.Inf(1)
	case exponent == 31:
		x = math.NaN()
	case exponent > 0:
		x = math.Ldexp(1024+mantissa, exponent-25)
	}
	if b&0x8000 != 0 {
		return -x
	}
	return x
}

// tensor is an array in a file, in the order of its entries. Nothing of it is read
// before it is wanted.
type tensor struct {
	shape []int
	kind  element
	at    io.ReaderAt
	from  int64
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
	return &tensor{shape, e, at, from}, nil
}

func (t *tensor) entries() int {
	n := 1
	for _, d := range t.shape {
		n *= d
	}
	return n
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
