package model

import (
	"compress/gzip"
	"io"
	"io/fs"
	"path"
)

// packedFile has the weights of a checkpoint that comes with the program: first every first byte of four, then every second one, and so on,
// compressed. Of a float32 the last byte has the sign and most of the exponent, which repeat; mantissas hardly do.
const packedFile = weightsFile + ".planes.gz"

// unpackWeights reads the bytes of a weights file from the packed one of a folder.
func unpackWeights(fsys fs.FS, dir string) ([]byte, error) {
	packed, err := fsys.Open(path.Join(dir, packedFile))
	if err != nil {
		return nil, err
	}
	defer packed.Close()
	z, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	planes, err := io.ReadAll(z)
	data := make([]byte, 0, len(planes))
	for i := range len(planes) / 4 {
		for first := range 4 {
			data = append(data, planes[first*(len(planes)/4)+i])
		}
	}
	return data, err
}
