package reader

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
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
	// At and Size are a file's; without At, Stream is read.
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
	most := in.most()
	head, src, compressed, err := in.opened()
	if len(head) == 0 {
		reason := "the file is empty"
		if err != nil && err != io.EOF {
			reason = fmt.Sprintf("nothing can be read of it: %v", err)
		}
		f.damage(1, 0, reason)
		return nil
	}
	binary := binaryFormat(head)
	if binary != nil && (compressed || in.At == nil) {
		var held chunks
		if n, err := io.Copy(&held, io.LimitReader(src, most.unpacked+1)); errors.Is(err, errExpansion) {
			return &Refused{in.Name, err.Error(), "it is no dump"}
		} else if err != nil || n > most.unpacked {
			return &Refused{in.Name, fmt.Sprintf("a compressed or piped file of this format that is cut or above %d MiB", most.unpacked>>20), "unpack it first, or raise --max-memory"}
		}
		in.At, in.Size = &held, held.size
	}
	if binary != nil {
		err = binary(f, in, visit)
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
		src = promised(io.NewSectionReader(in.At, 0, in.Size), in.Size)
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

// watched is a stream that calls a function after each read, which may replace its error.
type watched struct {
	io.Reader
	told func(n int, err error) error
}

// Read implements io.Reader.
func (w watched) Read(b []byte) (int, error) {
	n, err := w.Reader.Read(b)
	return n, w.told(n, err)
}

// promised is a stream of a known length; an end that comes too soon is no end.
func promised(src io.Reader, left int64) io.Reader {
	return watched{src, func(n int, err error) error {
		if left -= int64(n); err == io.EOF && left > 0 {
			err = errors.New("the file has become shorter while it was read")
		}
		return err
	}}
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

// decompressed is what a compressed stream holds, nil for one that is not. It ends with errExpansion where it grows out of proportion.
func decompressed(head []byte, src io.Reader) (z io.Reader, err error) {
	read, out := int64(0), int64(0)
	packed := watched{src, func(n int, err error) error { read += int64(n); return err }}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err = gzip.NewReader(packed)
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err = zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(128<<20))
	default:
		return nil, nil
	}
	if err != nil {
		return bytes.NewReader(nil), err
	}
	return watched{z, func(n int, err error) error {
		if out += int64(n); out > expandedBytes && out/expansion > read {
			return errExpansion
		}
		return err
	}}, nil
}

// binaryFormat is how a file with this beginning is read, nil for lines.
func binaryFormat(head []byte) func(*File, Input, func(*Row) error) error {
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

// DefaultMemory is the memory that a dump may take where the caller allows no other, in bytes.
const DefaultMemory = 1 << 30

// bounds are what may be held of a dump at any time, as parts of the memory that the caller allows. A collected heap may be
// twice what is held, and a growing list is held twice while it is copied: the parts that are held together come to less
// than half.
type bounds struct {
	// numbers is how many a row has in the columns that are read, and text the bytes of its texts.
	numbers, text int
	// unpacked is what is held of a pickle, a torch file or a Parquet file that comes compressed or through a pipe: they
	// cannot be read from front to back. pickled is what the values of a pickle may take, chunk a column chunk of a Parquet
	// file when it is unpacked.
	unpacked, pickled, chunk int64
	// joined is how many numbers are kept of another file, to be joined to the rows of this one.
	joined int
}

// most are the bounds of an input.
func (in Input) most() bounds {
	memory := in.MaxMemory
	if memory <= 0 {
		memory = DefaultMemory
	}
	return bounds{numbers: int(memory / 64), text: int(memory / 8), unpacked: memory / 16 * 3, pickled: memory / 32 * 5, chunk: memory / 8, joined: int(memory / 128)}
}

// Limits of single things.
const (
	// rowTokens is the most tokens of a response, longestText the most bytes of a text.
	rowTokens   = 1 << 21
	longestText = 1 << 25
	// deepestStack is the most values on the stack of a pickle: writers put at most a thousand entries of a list there, and
	// tuples whole.
	deepestStack = 1 << 20
	// rowKeys is the most bytes of the keys of the row that decides the format.
	rowKeys = 1 << 20
	// probed is how many bytes are read before the first complete row must have ended.
	probed = 192 << 20
	// From expandedBytes on, what a compressed stream expands to may be at most expansion times as long as it. Rows of
	// log-probs shrink to a tenth, and the zeros of a padded row to a thousandth: a row of 32,768 places with 500 tokens in
	// it shrinks to a fiftieth.
	expandedBytes = 64 << 20
	expansion     = 200
	// directoryBytes is the most that is read to find the entries of a torch file.
	directoryBytes = 16 << 20
	// rememberedRows are the rows of a file whose names are compared with those of later ones.
	rememberedRows = 1 << 21
)

// errExpansion ends the reading of a compressed stream.
var errExpansion = fmt.Errorf("it expands to more than %d times its length, which no dump does", expansion)

// errProbed says that nothing tells what a file is.
var errProbed = fmt.Errorf("there is no complete row in its first %d MiB", probed>>20)

// chunks is what is held of a stream, without ever copying it into a larger array.
type chunks struct {
	list [][]byte
	size int64
}

const chunkSize = 1 << 20

func (c *chunks) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		at := int(c.size % chunkSize)
		if at == 0 {
			c.list = append(c.list, make([]byte, chunkSize))
		}
		k := copy(c.list[len(c.list)-1][at:], b)
		b, c.size = b[k:], c.size+int64(k)
	}
	return n, nil
}

func (c *chunks) ReadAt(b []byte, from int64) (n int, err error) {
	if from < 0 {
		return 0, errors.New("a place before the beginning")
	}
	for n < len(b) && from < c.size {
		in := c.list[from/chunkSize]
		k := copy(b[n:], in[from%chunkSize:min(chunkSize, c.size-from/chunkSize*chunkSize)])
		n, from = n+k, from+int64(k)
	}
	if n < len(b) {
		err = io.EOF
	}
	return n, err
}

// frugal is a file of which a limited number of bytes is read.
type frugal struct {
	io.ReaderAt
	left int64
}

func (f *frugal) ReadAt(b []byte, from int64) (int, error) {
	if f.left -= int64(len(b)); f.left < 0 {
		return 0, fmt.Errorf("its directory has more than %d MiB", directoryBytes>>20)
	}
	return f.ReaderAt.ReadAt(b, from)
}

// ahead is how many rows may be read before they are asked for: enough to keep two cores busy, and few enough that their
// copies take little memory.
const ahead = 2

// largeRow is how many tokens make a row too large to be copied.
const largeRow = 1 << 17

// errStopped ends the reading of a file whose visitor has had enough.
var errStopped = errors.New("the visitor has stopped")

// Read reads a dump and calls visit for every complete row that counts, until it
// returns an error. A format that is not empty is taken for the file's. An error is
// visit's, or a Refused for a file that cannot be read at all.
//
// A file is read in a goroutine of its own, while visit, in the caller's, takes in the rows in
// their order; a row is valid until it returns. A row is copied to be read ahead of, unless it is so large that the
// reader waits for it.
func Read(in Input, format string, visit func(*Row) error) (f *File, err error) {
	rows, free := make(chan *Row, ahead), make(chan *Row, ahead+1)
	for range ahead + 1 {
		free <- new(Row)
	}
	stop, taken := make(chan struct{}), make(chan struct{})
	f = &File{Name: in.Name, Step: Unknown}
	go func() {
		defer close(rows)
		defer func() {
			if p := recover(); p != nil {
				err = &Refused{f.Name, fmt.Sprintf("a fault of this program (%v) after row %d", p, f.Rows), "please report it, with this file if you can"}
			}
		}()
		err = f.read(in, format, func(r *Row) error {
			var to *Row
			select {
			case to = <-free:
			case <-stop:
				return errStopped
			}
			if r.large() {
				free <- to
				rows <- r
				<-taken
				return nil
			}
			to.copy(r)
			rows <- to
			return nil
		})
	}()
	var sent error
	for r := range rows {
		if sent == nil {
			if sent = visit(r); sent != nil {
				close(stop)
			}
		}
		if r.large() {
			taken <- struct{}{}
		} else {
			free <- r
		}
	}
	if sent != nil {
		err = sent
	}
	return f, err
}

func (r *Row) large() bool { return max(len(r.Mask), len(r.Prompt), len(r.HeadID)) > largeRow }

// copy makes a row one like another, in memory of its own. A column that is missing stays nil.
func (r *Row) copy(from *Row) {
	own := reflect.ValueOf(*r)
	*r = *from
	to := reflect.ValueOf(r).Elem()
	for i := range to.NumField() {
		column := to.Field(i)
		if column.Kind() != reflect.Slice || column.IsNil() {
			continue
		}
		memory := own.Field(i)
		if memory.IsNil() {
			memory = reflect.MakeSlice(column.Type(), 0, column.Len())
		}
		column.Set(reflect.AppendSlice(memory.Slice(0, 0), column))
	}
}
