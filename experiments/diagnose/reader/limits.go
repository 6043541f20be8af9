package reader

import (
	"errors"
	"fmt"
	"io"
)

// What is held of a dump at any time. Together these keep every input, whatever is in it, below 512 MB.
const (
	// rowNumbers and rowTokens are the most numbers that a row of lines may have in the columns that are read, and the most
	// tokens of its response; rowText is the most bytes of its texts, and longestText of one of them.
	rowNumbers  = 1 << 24
	rowTokens   = 1 << 21
	rowText     = 1 << 27
	longestText = 1 << 25
	// rowKeys is the most bytes of the keys of the row that decides the format.
	rowKeys = 1 << 20
	// probed is how many bytes are read before the first complete row must have ended.
	probed = 192 << 20
	// unpackedBytes is the most that is held of a pickle, a torch file or a Parquet file that comes compressed or through a
	// pipe: they cannot be read from front to back.
	unpackedBytes = 192 << 20
	// From expandedBytes on, a compressed stream may not be more than expansion times as long as what it was made of. Rows of
	// log-probs shrink to a tenth.
	expandedBytes = 1 << 30
	expansion     = 200
	// pickledBytes is the most memory that the values of a pickle may take.
	pickledBytes = 160 << 20
	// directoryBytes is the most that is read to find the entries of a torch file.
	directoryBytes = 16 << 20
	// joinedNumbers is the most numbers that are kept of another file, to be joined to this one's rows.
	joinedNumbers = 1 << 23
	// chunkBytes is the most that a column chunk of a Parquet file may take when it is unpacked.
	chunkBytes = 128 << 20
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
