package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"
)

// File is the content of a safetensors file.
type File struct {
	// Tensors are all tensors in the order of their data.
	Tensors []Tensor
	// Metadata is the header's free-form strings; nil if it has none.
	Metadata map[string]string

	byName map[string]int
}

// Tensor returns the tensor of that name, or nil.
func (f *File) Tensor(name string) *Tensor {
	i, ok := f.byName[name]
	if !ok {
		return nil
	}
	return &f.Tensors[i]
}

// entry is a tensor as the header describes it.
type entry struct {
	Tensor
	from, to uint64
}

// Parse reads a whole file from memory. The tensors' Data are views of data.
// Errors are one line and name the tensor; the caller knows the file.
func Parse(data []byte) (*File, error) {
	f, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	for i := range f.Tensors {
		t := &f.Tensors[i]
		end := t.at + int64(t.Len())*int64(t.DType.size())
		t.Data, t.source = data[t.at:end:end], nil
	}
	return f, nil
}

// Open reads the header of a file of size bytes; the tensors read their
// values when they are asked for them. Errors are those of Parse.
func Open(r io.ReaderAt, size int64) (*File, error) {
	if size < 8 {
		return nil, fmt.Errorf("%d bytes are too few for a safetensors file: it is truncated or something else", size)
	}
	var head [8]byte
	if err := readAt(r, head[:], 0); err != nil {
		return nil, err
	}
	length := binary.LittleEndian.Uint64(head[:])
	if length > MaxHeader {
		return nil, fmt.Errorf("header length %d is above the limit of %d: not a safetensors file, or damaged", length, MaxHeader)
	}
	if length > uint64(size-8) {
		return nil, fmt.Errorf("header of %d bytes in a file of %d: the file is truncated, copy it again", length, size)
	}
	header := make([]byte, length)
	if err := readAt(r, header, 8); err != nil {
		return nil, err
	}
	entries, metadata, err := parseHeader(header)
	if err != nil {
		return nil, err
	}
	f, err := fill(entries, uint64(size-8)-length)
	if err != nil {
		return nil, err
	}
	f.Metadata = metadata
	for i := range f.Tensors {
		f.Tensors[i].source, f.Tensors[i].at = r, 8+int64(length+entries[i].from)
	}
	return f, nil
}

// readAt fills data from r, from that offset on.
func readAt(r io.ReaderAt, data []byte, at int64) error {
	_, err := io.ReadFull(io.NewSectionReader(r, at, int64(len(data))), data)
	return err
}

// fill puts the tensors into the order of their data, of which every byte must
// belong to one.
func fill(entries []entry, size uint64) (*File, error) {
	slices.SortStableFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	f := &File{byName: make(map[string]int, len(entries))}
	at := uint64(0)
	for i, e := range entries {
		switch {
		case e.to > size:
			return nil, fmt.Errorf("tensor %s ends at byte %d of %d: the file is truncated, copy it again", quote(e.Name), e.to, size)
		case e.from < at:
			return nil, fmt.Errorf("tensor %s overlaps tensor %s: the header is damaged", quote(e.Name), quote(entries[i-1].Name))
		case e.from > at:
			return nil, fmt.Errorf("bytes %d to %d before tensor %s belong to no tensor: the header is damaged", at, e.from, quote(e.Name))
		}
		at = e.to
		f.byName[e.Name] = i
		f.Tensors = append(f.Tensors, e.Tensor)
	}
	if at != size {
		return nil, fmt.Errorf("%d bytes after the last tensor belong to no tensor: the file is damaged or not of this format", size-at)
	}
	return f, nil
}

// parseHeader reads the JSON object token by token, so that names given twice
// are seen.
func parseHeader(header []byte) ([]entry, map[string]string, error) {
	if len(header) == 0 || header[0] != '{' {
		return nil, nil, errors.New("the header does not start with '{': not a safetensors file, or damaged")
	}
	if !utf8.Valid(header) {
		return nil, nil, errors.New("the header is not UTF-8: the file is damaged")
	}
	d := json.NewDecoder(bytes.NewReader(header))
	var entries []entry
	var metadata map[string]string
	seen := map[string]bool{}
	err := object(d, func(name string) error {
		if seen[name] {
			return fmt.Errorf("%s is there twice", quote(name))
		}
		seen[name] = true
		if name == metadataKey {
			metadata = map[string]string{}
			return object(d, func(key string) error {
				if _, ok := metadata[key]; ok {
					return fmt.Errorf("metadata %s is there twice", quote(key))
				}
				var value *string
				if err := d.Decode(&value); err != nil || value == nil {
					return fmt.Errorf("metadata %s is not a string", quote(key))
				}
				metadata[key] = *value
				return nil
			})
		}
		e, err := parseEntry(d, name)
		if err != nil {
			return fmt.Errorf("tensor %s: %w", quote(name), err)
		}
		entries = append(entries, e)
		return nil
	})
	if err == nil {
		if _, rest := d.Token(); rest != io.EOF {
			err = errors.New("text follows the header's object")
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("damaged header: %w", err)
	}
	return entries, metadata, nil
}

// object reads a JSON object and calls field for each key, which must consume
// the value.
func object(d *json.Decoder, field func(key string) error) error {
	if t, err := d.Token(); err != nil {
		return err
	} else if t != json.Delim('{') {
		return fmt.Errorf("%s where an object must be", quote(fmt.Sprint(t)))
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		key, ok := t.(string)
		if !ok {
			return fmt.Errorf("%s where a name must be", quote(fmt.Sprint(t)))
		}
		if err := field(key); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// parseEntry reads {"dtype": ..., "shape": [...], "data_offsets": [from, to]}.
func parseEntry(d *json.Decoder, name string) (entry, error) {
	e := entry{Tensor: Tensor{Name: name}}
	var dtype *string
	var shape, offsets []json.RawMessage // raw, so that 1e2, "1" and null are refused
	err := object(d, func(key string) error {
		var err error
		switch {
		case key == "dtype" && dtype == nil:
			err = d.Decode(&dtype)
		case key == "shape" && shape == nil:
			err = d.Decode(&shape)
		case key == "data_offsets" && offsets == nil:
			err = d.Decode(&offsets)
		case key == "dtype" || key == "shape" || key == "data_offsets":
			return fmt.Errorf("%s is there twice", key)
		default:
			return fmt.Errorf("unknown field %s", quote(key))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		return nil
	})
	if err != nil {
		return e, err
	}
	if dtype == nil || shape == nil || len(offsets) != 2 {
		return e, errors.New("dtype, shape and two data_offsets are required")
	}
	e.DType = DType(*dtype)
	if e.DType.size() == 0 {
		return e, fmt.Errorf("unknown number format %s", quote(*dtype))
	}
	e.Shape = make([]int, len(shape))
	for i, s := range shape {
		if e.Shape[i], err = strconv.Atoi(string(s)); err != nil || e.Shape[i] < 0 {
			return e, fmt.Errorf("dimension %s is not a size", quote(string(s)))
		}
	}
	for i, dst := range []*uint64{&e.from, &e.to} {
		if *dst, err = strconv.ParseUint(string(offsets[i]), 10, 63); err != nil {
			return e, fmt.Errorf("offset %s is not a position", quote(string(offsets[i])))
		}
	}
	n, ok := elements(e.Shape)
	if !ok || e.to < e.from || (e.to-e.from)%e.DType.size() != 0 || (e.to-e.from)/e.DType.size() != n {
		return e, fmt.Errorf("bytes %d to %d do not hold shape %v of %s", e.from, e.to, e.Shape, e.DType)
	}
	return e, nil
}
