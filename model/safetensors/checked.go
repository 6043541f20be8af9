package safetensors

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
)

// checkTensor is the last tensor of a checked file: the SHA-256 of every byte
// before it, header included. Readers that do not know it see 32 bytes more.
const checkTensor = "~sha256"

// WriteChecked is Write with a checksum that OpenChecked verifies. No tensor
// may sort after "~sha256", as names of plain words do not.
func WriteChecked(w io.Writer, tensors []Tensor, metadata map[string]string) error {
	check := Tensor{Name: checkTensor, DType: "U8", Shape: []int{sha256.Size}, Data: make([]byte, sha256.Size)}
	sorted := inOrder(append(tensors[:len(tensors):len(tensors)], check))
	last := len(sorted) - 1
	if sorted[last].Name != checkTensor {
		return fmt.Errorf("safetensors: tensor %s sorts behind the checksum", quote(sorted[last].Name))
	}
	header, err := formatHeader(sorted, metadata)
	if err != nil {
		return err
	}
	sum := sha256.New()
	if err := writeFile(io.MultiWriter(w, sum), header, sorted[:last]); err != nil {
		return err
	}
	_, err = w.Write(sum.Sum(nil))
	return err
}

// OpenChecked is Open for a file of WriteChecked; one bit that differs from
// what was written is an error.
func OpenChecked(r io.ReaderAt, size int64) (*File, error) {
	var want [sha256.Size]byte
	body := size - sha256.Size
	if body < 0 {
		return nil, fmt.Errorf("%d bytes are too few for a checked safetensors file: it is truncated or something else", size)
	}
	if err := readAt(r, want[:], body); err != nil {
		return nil, err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(r, 0, body)); err != nil {
		return nil, err
	}
	if !bytes.Equal(sum.Sum(nil), want[:]) {
		return nil, errors.New("the file is damaged or not whole: its bytes do not have the SHA-256 at its end")
	}
	return Open(r, size)
}
