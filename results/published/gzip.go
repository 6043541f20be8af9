package published

import (
	"bytes"
	"compress/gzip"
	"io"
)

// Gzip compresses a text that the program or a page of it carries.
func Gzip(raw []byte) []byte {
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level is valid
	z.Write(raw)                                               // a buffer takes everything
	z.Close()
	return packed.Bytes()
}

// Gunzip is the text that Gzip compressed; it panics on other bytes.
func Gunzip(packed []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	var raw []byte
	if err == nil {
		raw, err = io.ReadAll(z)
	}
	if err != nil {
		panic("an embedded file: " + err.Error()) // tests read each
	}
	return raw
}
