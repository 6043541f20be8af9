package reader

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

var nan = math.NaN()

// Input is a dump to be read.
type Input struct {
	// Name is what faults are reported under. It does not decide the format.
	Name string
	// At and Size are those of a file; without At, Stream is read.
	At   io.ReaderAt
	Size int64
	// Stream is what has no Size, as a pipe.
	Stream io.Reader
	// MaxMemory is about how many bytes may be held of it at any time, DefaultMemory where it is 0.
	MaxMemory int64
	// InFolder reports whether a file of that name stands in the same folder; nil if there is none.
	InFolder func(name string) bool
	// Open opens a file by its path from the folder of this one; nil if there is none. What it
	// returns is closed by the reader.
	Open func(path string) (file ReaderAtCloser, size int64, err error)
}

// ReaderAtCloser is a file that is open.
type ReaderAtCloser interface {
	io.ReaderAt
	io.Closer
}

// read is Read without a goroutine of its own: the row is valid until visit returns.
func (f *File) read(in Input, format string, visit func(*Row) error) error {
	most := boundsOf(in.MaxMemory)
	head, src, compressed, err := in.opened()
	if len(head) == 0 {
		f.nothing(err)
		return nil
	}
	at, size := in.At, in.Size
	binary := binaryFormat(head)
	if binary != nil && (compressed || at == nil) {
		var held chunks
		if n, err := io.Copy(&held, io.LimitReader(src, most.unpacked+1)); errors.Is(err, errExpansion) {
			return &Refused{in.Name, err.Error(), "it is no dump"}
		} else if err != nil || n > most.unpacked {
			return &Refused{in.Name, fmt.Sprintf("a compressed or piped file of this format that is cut or above %d MiB", most.unpacked>>20), "unpack it first, or raise --max-memory"}
		}
		at, size = &held, held.size
	}
	if binary != nil {
		err = binary(f, file{in.Name, at, size, in.Open, in.MaxMemory, most}, visit)
	} else {
		err = f.readLines(in, src, format, visit)
	}
	f.close()
	return err
}

// opened is the beginning of what the input holds, decompressed, and the whole of it as a stream.
func (in Input) opened() (head []byte, src io.Reader, compressed bool, err error) {
	src = in.Stream
	if in.At != nil {
		src = &promised{io.NewSectionReader(in.At, 0, in.Size), in.Size}
	}
	if head, src, err = peeked(src); err != nil || len(head) == 0 {
		return head, src, false, err
	}
	z, err := decompressed(head, src)
	if z == nil {
		return head, src, false, err
	}
	head, src, empty := peeked(z)
	return head, src, true, cmp.Or(err, empty)
}

// promised is a stream of a known length.
type promised struct {
	io.Reader
	left int64
}

// Read implements io.Reader; an end that comes too soon is no end.
func (p *promised) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if p.left -= int64(n); err == io.EOF && p.left > 0 {
		err = errors.New("the file has become shorter while it was read")
	}
	return n, err
}

// nothing notes that a file is empty, or broken before anything came out.
func (f *File) nothing(err error) {
	reason := "the file is empty"
	if err != nil && err != io.EOF {
		reason = fmt.Sprintf("nothing can be read of it: %v", err)
	}
	f.damage(1, 0, reason)
}

// peeked is the beginning of a stream, and the stream from its beginning.
func peeked(src io.Reader) ([]byte, io.Reader, error) {
	head := make([]byte, len(legacyMagic))
	n, err := io.ReadFull(src, head)
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) && n > 0 {
		err = nil
	}
	return head[:n], io.MultiReader(bytes.NewReader(head[:n]), src), err
}

// decompressed is what a compressed stream holds, nil for one that is not.
func decompressed(head []byte, src io.Reader) (io.Reader, error) {
	packed := &counting{Reader: src}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(packed)
		if err != nil {
			return bytes.NewReader(nil), err
		}
		return &expanding{Reader: z, packed: packed}, nil
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return bytes.NewReader(nil), err
		}
		return &expanding{Reader: z, packed: packed}, nil
	}
	return nil, nil
}

// file is a file that can be read anywhere.
type file struct {
	name string
	at   io.ReaderAt
	size int64
	open func(path string) (ReaderAtCloser, int64, error)

	memory int64
	most   bounds
}

// binaryFormat is how a file with this beginning is read, nil for lines.
func binaryFormat(head []byte) func(*File, file, func(*Row) error) error {
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), string(head) == legacyMagic:
		return (*File).readTorch
	case bytes.HasPrefix(head, []byte("PAR1")):
		return (*File).readParquet
	case len(head) > 1 && head[0] == 0x80 && head[1] <= 5:
		return (*File).readPickle
	case len(head) > 1 && (head[0]&0xf0 == 0x90 || head[0]&0xfe == 0xdc): // a list in msgpack, and no text in UTF-8
		return (*File).readTransport
	}
	return nil
}

// The numbers that names of files have: the last before the end of the name, and
// prime-rl's and AReaL's, that of the folder.
var (
	stepFolder = regexp.MustCompile(`(?:^|[/\\])step_([0-9]+)[/\\][^/\\]*$`)
	stepFile   = regexp.MustCompile(`(?:^|[/\\])(?:[^/\\0-9]*?(?:step_?|completions_))?([0-9]+)(?:_training_input)?\.[a-z.]+$`)
)

// StepNamed is the step that a file's name says, Unknown if it says none.
func StepNamed(name string) int {
	for _, pattern := range []*regexp.Regexp{stepFolder, stepFile} {
		if m := pattern.FindStringSubmatch(name); m != nil {
			if step, err := strconv.Atoi(m[1]); err == nil {
				return step
			}
		}
	}
	return Unknown
}
