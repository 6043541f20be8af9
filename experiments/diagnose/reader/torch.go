package reader

import (
	"archive/zip"
	"encoding/binary"
	"fmt"
	"io"
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
// what the machine was, the root, and the keys of the storages, which stand behind
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
