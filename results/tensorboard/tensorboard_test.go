package tensorboard

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"driftlab/precision/must"
	"driftlab/results/record"
)

// The parser below is written from the descriptions of the formats (TFRecord, protocol buffers' wire format,
// event.proto) and shares nothing with the writer: the checksum is computed bit by bit.

// crc32c is the CRC with the reflected polynomial 0x82f63b78.
func crc32c(data []byte) uint32 {
	sum := ^uint32(0)
	for _, b := range data {
		sum ^= uint32(b)
		for range 8 {
			if sum&1 == 1 {
				sum = sum>>1 ^ 0x82f63b78
			} else {
				sum >>= 1
			}
		}
	}
	return ^sum
}

// unmask undoes TFRecord's mask of a checksum.
func unmask(sum uint32) uint32 {
	sum -= 0xa282ead8
	return sum>>17 | sum<<15
}

// frames splits an event file into its records.
func frames(file []byte) (list [][]byte, err error) {
	for len(file) > 0 {
		if len(file) < 16 {
			return nil, fmt.Errorf("%d bytes are left", len(file))
		}
		n := binary.LittleEndian.Uint64(file)
		if unmask(binary.LittleEndian.Uint32(file[8:])) != crc32c(file[:8]) {
			return nil, fmt.Errorf("the checksum of a length is wrong")
		}
		data := file[12 : 12+n]
		if unmask(binary.LittleEndian.Uint32(file[12+n:])) != crc32c(data) {
			return nil, fmt.Errorf("the checksum of a record is wrong")
		}
		list, file = append(list, data), file[16+n:]
	}
	return list, nil
}

// field is a field of a message: its number, and its value as bytes or as a number.
type field struct {
	number int
	data   []byte
	value  uint64
}

// fields splits a message into its fields.
func fields(message []byte) (list []field) {
	varint := func() (v uint64) {
		for shift := 0; ; shift += 7 {
			b := message[0]
			message = message[1:]
			v |= uint64(b&0x7f) << shift
			if b < 0x80 {
				return v
			}
		}
	}
	for len(message) > 0 {
		key := varint()
		f := field{number: int(key >> 3)}
		switch key & 7 {
		case 0:
			f.value = varint()
		case 1:
			f.value, message = binary.LittleEndian.Uint64(message), message[8:]
		case 2:
			n := varint()
			f.data, message = message[:n], message[n:]
		case 5:
			f.value, message = uint64(binary.LittleEndian.Uint32(message)), message[4:]
		}
		list = append(list, f)
	}
	return list
}

// read lists the events of a file, a line each.
func read(file []byte) (lines []string, err error) {
	records, err := frames(file)
	for _, message := range records {
		time, step, line := 0.0, uint64(0), ""
		for _, f := range fields(message) {
			switch f.number {
			case 1:
				time = math.Float64frombits(f.value)
			case 2:
				step = f.value
			case 3:
				line += " version " + string(f.data)
			case 5:
				for _, v := range fields(f.data) {
					parts := fields(v.data)
					line += fmt.Sprintf(" %s=%v", parts[0].data, math.Float32frombits(uint32(parts[1].value)))
				}
			}
		}
		lines = append(lines, fmt.Sprintf("%v s, step %d:%s", time, step, line))
	}
	return lines, err
}

func TestEvents(t *testing.T) {
	r := &record.Record{Columns: []record.Column{
		{Name: "critic/score/mean", Step: []int{1, 2, 300}, Value: []float64{0.25, 0.5, math.NaN()}},
		{Name: "val/learner/pass_rate", Step: []int{0, 300}, Value: []float64{0.125, math.Inf(1)}},
	}}
	file := Events(r)
	// So begins every event file that TensorFlow writes: 24 bytes, and the masked checksum of that length.
	if start := []byte("\x18\x00\x00\x00\x00\x00\x00\x00\xa3\x7fK\""); !bytes.HasPrefix(file, start) {
		t.Errorf("the file begins with % x, want % x", file[:12], start)
	}
	lines := must.Get(read(file))(t)
	want := []string{
		"0 s, step 0: version brain.Event:2",
		"0 s, step 0: val/learner/pass_rate=0.125",
		"1 s, step 1: critic/score/mean=0.25",
		"2 s, step 2: critic/score/mean=0.5",
		"300 s, step 300: critic/score/mean=NaN val/learner/pass_rate=+Inf",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("%q, want %q", lines, want)
	}
	// The parser detects damage, in a length as in the data.
	for _, at := range []int{3, 20, len(file) - 30} {
		broken := bytes.Clone(file)
		broken[at] ^= 4
		if _, err := frames(broken); err == nil {
			t.Errorf("byte %d may be wrong", at)
		}
	}
}
