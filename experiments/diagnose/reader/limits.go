package reader

import (
	"errors"
	"fmt"
	"io"
)

// DefaultMemory is the memory that a dump may take where the caller allows no other, in bytes.
const DefaultMemory = 1 << 30

// bounds are what may be held of a dump at any time, as parts of the memory that the caller allows. A collected heap may be
// twice what is held, and a growing list is held twice while it is copied: the parts that are held together come to less
// than half.
type bounds struct {
	// numbers are those of a row in the columns that are read, and text the bytes of its texts.
	numbers, text int
	// unpacked is what is held of a pickle, a torch file or a Parquet file that comes compressed or through a pipe: they
	// cannot be read from front to back. pickled is what the values of a pickle may take, chunk a column chunk of a Parquet
	// file when it is unpacked.
	unpacked, pickled, chunk int64
	// joined is how many numbers are kept of another file, to be joined to the rows of this one.
	joined int
}

func boundsOf(memory int64) bounds {
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
	// From expandedBytes on, a compressed stream may not be more than expansion times as long as what it was made of. Rows of
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

// expanding is a decompressed stream that ends with errExpansion where it grows out of proportion.
type expanding struct {
	io.Reader
	packed *counting
	out    int64
}

func (e *expanding) Read(b []byte) (int, error) {
	n, err := e.Reader.Read(b)
	if e.out += int64(n); e.out > expandedBytes && e.out/expansion > e.packed.n {
		return 0, errExpansion
	}
	return n, err
}

// counting counts the bytes of a stream.
type counting struct {
	io.Reader
	n int64
}

func (c *counting) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n += int64(n)
	return n, err
}

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

// frugal is a file of which only so many bytes are read.
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
