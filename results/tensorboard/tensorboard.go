// Package tensorboard writes the metrics of runs as event files, which TensorBoard reads.
//
// An event file is a sequence of TFRecord frames, each a protocol buffer `tensorflow.Event` (event.proto and
// summary.proto of TensorFlow). The first has the version of the format, every other the scalars of one step.
//
// What it is not: nothing but the command imports it, so that the page of the lab does without it.
package tensorboard

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"slices"

	"driftlab/results/record"

	"google.golang.org/protobuf/encoding/protowire"
)

// FileName is the name of a run's event file: TensorBoard looks for "tfevents" in it.
const FileName = "events.out.tfevents.0.driftlab"

// The fields of Event, Summary and Summary.Value that are written.
const (
	eventWallTime    = 1 // double
	eventStep        = 2 // int64
	eventFileVersion = 3 // string
	eventSummary     = 5 // Summary
	summaryValue     = 1 // repeated Summary.Value
	valueTag         = 1 // string
	valueSimple      = 2 // float
)

// Events returns the event file of a run: the metrics of every step under their names, rounded to float32 as
// the format has it. The wall time of a step is its number in seconds, since a run's record has no clock: equal
// records give equal bytes.
func Events(r *record.Record) []byte {
	version := protowire.AppendTag(appendHead(nil, 0), eventFileVersion, protowire.BytesType)
	version = protowire.AppendString(version, "brain.Event:2")
	file := appendFrame(nil, version)
	var steps []int
	for _, c := range r.Columns {
		steps = append(steps, c.Step...)
	}
	slices.Sort(steps)
	var value, summary, event []byte
	for _, step := range slices.Compact(steps) {
		summary = summary[:0]
		for _, c := range r.Columns {
			figure, ok := c.At(step)
			if !ok {
				continue
			}
			value = protowire.AppendString(protowire.AppendTag(value[:0], valueTag, protowire.BytesType), c.Name)
			value = protowire.AppendTag(value, valueSimple, protowire.Fixed32Type)
			value = protowire.AppendFixed32(value, math.Float32bits(float32(figure)))
			summary = protowire.AppendBytes(protowire.AppendTag(summary, summaryValue, protowire.BytesType), value)
		}
		event = protowire.AppendTag(appendHead(event[:0], step), eventSummary, protowire.BytesType)
		file = appendFrame(file, protowire.AppendBytes(event, summary))
	}
	return file
}

// appendHead appends the wall time and the step of an event. A step of zero is left out, as proto3 has it.
func appendHead(b []byte, step int) []byte {
	b = protowire.AppendTag(b, eventWallTime, protowire.Fixed64Type)
	b = protowire.AppendFixed64(b, math.Float64bits(float64(step)))
	if step != 0 {
		b = protowire.AppendVarint(protowire.AppendTag(b, eventStep, protowire.VarintType), uint64(step))
	}
	return b
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// maskedSum is TFRecord's checksum: CRC-32C, rotated right by 15 bits, plus a constant.
func maskedSum(data []byte) uint32 {
	sum := crc32.Checksum(data, castagnoli)
	return (sum>>15 | sum<<17) + 0xa282ead8
}

// appendFrame appends a TFRecord frame: length, its checksum, data, its checksum, little-endian.
func appendFrame(file, data []byte) []byte {
	at := len(file)
	file = binary.LittleEndian.AppendUint64(file, uint64(len(data)))
	file = binary.LittleEndian.AppendUint32(file, maskedSum(file[at:]))
	file = append(file, data...)
	return binary.LittleEndian.AppendUint32(file, maskedSum(data))
}
