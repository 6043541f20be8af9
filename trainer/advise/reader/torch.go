package reader

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

// archive is what torch.save writes: a pickle, and a file for every storage.
type archive struct {
	root    any
	folder  string
	storage map[string]*zip.File
	at      io.ReaderAt
	left    int // entries that may still be read: what the file has, once
}

// openArchive reads the pickle of a torch file.
func openArchive(at io.ReaderAt, size int64) (*archive, error) {
	z, err := zip.NewReader(at, size)
	if err != nil {
		return nil, err
	}
	a := &archive{storage: map[string]*zip.File{}, at: at, left: int(size)}
	var pickle *zip.File
	for _, f := range z.File {
		if f.Method != zip.Store || f.UncompressedSize64 > uint64(size) {
			return nil, fmt.Errorf("%s is compressed, or longer than the file: torch.save stores its entries as they are", f.Name)
		}
		if name, ok := strings.CutSuffix(f.Name, "data.pkl"); ok && strings.Count(name, "/") <= 1 {
			pickle, a.folder = f, name
		}
		a.storage[f.Name] = f
	}
	if pickle == nil {
		return nil, fmt.Errorf("there is no data.pkl in it")
	}
	if order, ok := a.storage[a.folder+"byteorder"]; ok {
		if text, err := a.bytes(order); err != nil || string(text) == "big" {
			return nil, fmt.Errorf("its numbers are big-endian")
		}
	}
	text, err := a.bytes(pickle)
	if err != nil {
		return nil, err
	}
	a.root, err = unpickle(bytes.NewReader(text), int64(len(text)))
	return a, err
}

// bytes is a short entry.
func (a *archive) bytes(f *zip.File) ([]byte, error) {
	in, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(in)
}

// column is a list of numbers or a tensor as numbers, nil for none.
func (a *archive) column(v any) ([]float64, error) {
	var x []float64
	switch v := v.(type) {
	case nil:
		return nil, nil
	case *list:
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
	s, ok := b.args[0].(*stored)
	offset, whole := b.args[1].(int64)
	id, tuple := any(nil), false
	if ok {
		id = s.id
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
	f, ok := a.storage[a.folder+"data/"+key]
	if !ok {
		return nil, fmt.Errorf("there is no storage %q", key)
	}
	from, err := f.DataOffset()
	if err != nil {
		return nil, err
	}
	skip := offset * int64(elements[kind.name].size)
	if offset < 0 || skip < 0 || skip > int64(f.UncompressedSize64) {
		return nil, fmt.Errorf("a tensor that begins behind its storage")
	}
	return newTensor(a.at, from+skip, int64(f.UncompressedSize64)-skip, kind.name, shape)
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
