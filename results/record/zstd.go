package record

import (
	"sync"

	"github.com/klauspost/compress/zstd"
)

// packedWindow is how far back zstd looks for what it has seen.
const packedWindow = 32 << 20

// codec has large tables, and serves all files. It is made by its first use and not as a
// package variable, which every program would carry, the lab's too.
var codec struct {
	sync.Mutex
	writer *zstd.Encoder
	reader *zstd.Decoder
}

func compress(text []byte) ([]byte, error) {
	codec.Lock()
	defer codec.Unlock()
	if codec.writer == nil {
		w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(packedWindow), zstd.WithEncoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		codec.writer = w
	}
	return codec.writer.EncodeAll(text, nil), nil
}

func decompress(packed []byte) ([]byte, error) {
	codec.Lock()
	defer codec.Unlock()
	if codec.reader == nil {
		r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(mostCells))
		if err != nil {
			return nil, err
		}
		codec.reader = r
	}
	return codec.reader.DecodeAll(packed, nil)
}
