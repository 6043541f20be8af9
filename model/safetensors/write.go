package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// Write writes a file. Tensors are stored by name, wider formats first, so that
// each is aligned to its own width, and the header is padded with blanks to a
// multiple of eight bytes, as the reference implementation does. The same
// tensors and metadata give the same bytes.
func Write(w io.Writer, tensors []Tensor, metadata map[string]string) error {
	sorted := inOrder(tensors)
	header, err := formatHeader(sorted, metadata)
	if err != nil {
		return err
	}
	return writeFile(w, header, sorted)
}

func inOrder(tensors []Tensor) []Tensor {
	sorted := slices.Clone(tensors)
	slices.SortFunc(sorted, func(a, b Tensor) int {
		return cmp.Or(cmp.Compare(b.DType.size(), a.DType.size()), cmp.Compare(a.Name, b.Name))
	})
	return sorted
}

func writeFile(w io.Writer, header []byte, sorted []Tensor) error {
	if _, err := w.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))); err != nil {
		return err
	}
	if _, err := w.Write(header); err != nil {
		return err
	}
	for i := range sorted {
		if err := sorted[i].write(w); err != nil {
			return err
		}
	}
	return nil
}

func formatHeader(sorted []Tensor, metadata map[string]string) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	comma := ""
	put := func(name string, value any) error {
		key, err := json.Marshal(name)
		if err != nil {
			return err
		}
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s%s:%s", comma, key, text)
		comma = ","
		return nil
	}
	if len(metadata) > 0 {
		// encoding/json sorts the keys of maps.
		if err := put(metadataKey, metadata); err != nil {
			return nil, err
		}
	}
	seen := map[string]bool{metadataKey: true}
	at := 0
	for _, t := range sorted {
		n, ok := elements(t.Shape)
		if !ok || t.DType.size() == 0 || n != uint64(t.size())/t.DType.size() || uint64(t.size())%t.DType.size() != 0 {
			return nil, fmt.Errorf("safetensors: tensor %s: %d bytes do not hold shape %v of %s", quote(t.Name), t.size(), t.Shape, t.DType)
		}
		if seen[t.Name] {
			return nil, fmt.Errorf("safetensors: tensor %s is there twice or has a reserved name", quote(t.Name))
		}
		seen[t.Name] = true
		entry := struct {
			DType   DType  `json:"dtype"`
			Shape   []int  `json:"shape"`
			Offsets [2]int `json:"data_offsets"`
		}{t.DType, append([]int{}, t.Shape...), [2]int{at, at + t.size()}}
		if err := put(t.Name, entry); err != nil {
			return nil, err
		}
		at += t.size()
	}
	b.WriteByte('}')
	for b.Len()%8 != 0 {
		b.WriteByte(' ')
	}
	if b.Len() > MaxHeader {
		return nil, fmt.Errorf("safetensors: header of %d bytes is above the limit of %d", b.Len(), MaxHeader)
	}
	return b.Bytes(), nil
}
