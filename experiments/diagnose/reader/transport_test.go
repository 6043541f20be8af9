package reader_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"driftlab/experiments/diagnose/reader"
)

// msgpack is a value as msgpack has it: whole numbers as they are shortest, others in eight bytes, as msgspec writes them.
func msgpack(v any) (b []byte) {
	switch v := v.(type) {
	case nil:
		return []byte{0xc0}
	case bool:
		if v {
			return []byte{0xc3}
		}
		return []byte{0xc2}
	case int:
		if v >= 0 && v < 128 {
			return []byte{byte(v)}
		}
		return binary.BigEndian.AppendUint32([]byte{0xd2}, uint32(v))
	case float64:
		return binary.BigEndian.AppendUint64([]byte{0xcb}, math.Float64bits(v))
	case string:
		return append([]byte{0xa0 | byte(len(v))}, v...)
	case []byte:
		return append([]byte{0xc4, byte(len(v))}, v...)
	case map[string]any: // of one entry
		b = []byte{0x81}
		for k, x := range v {
			b = append(append(b, msgpack(k)...), msgpack(x)...)
		}
		return b
	case []any:
		if b = []byte{0x90 | byte(len(v))}; len(v) > 15 {
			b = binary.BigEndian.AppendUint16([]byte{0xdc}, uint16(len(v)))
		}
		for _, x := range v {
			b = append(b, msgpack(x)...)
		}
		return b
	}
	panic(fmt.Sprintf("%T", v))
}

// list is a list of the same kind of values.
func list[T any](x ...T) []any {
	l := make([]any, len(x))
	for i, v := range x {
		l[i] = v
	}
	return l
}

// microBatch is one of prime-rl's with two sequences of three and two tokens, and one token of padding.
func microBatch(more ...any) []any {
	return append([]any{
		list(5, 7, 70000, 6, 9, 0), list(false, true, true, false, true, false), list(0.0, 0.5, 0.5, 0.0, -1.0, 0.0), list(0.0, -1.0, -2.0, 0.0, -3.0, 0.0),
		list(0, 1, 2, 0, 1, 0), list(3, 3), list(0.7, 0.7, 0.7, 1.0, 1.0, 1.0), list("math", "math", "math", "code", "code", ""), list(3, 3)}, more...)
}

var transported = msgpack([]any{microBatch(), microBatch(nil, []any{[]byte{1, 2, 3}, list(6, 1, 1), "uint8"}, map[string]any{"pixel_values": []any{"float32", list(1), []byte{0, 0, 0, 0}}},
	nil, list(0.0, 0.0, 1.0, 1.0, 1.0, 1.0))})

// prime-rl's transport: the sequences of each micro batch, whatever fields follow those that are read.
func TestTransport(t *testing.T) {
	rows, about, err := readBytes(transported)
	if err != nil || about.Format != "prime-transport" || len(rows) != 4 || about.Damaged > 0 || about.Tokens != 5 {
		t.Fatalf("%v %d rows %+v", err, len(rows), about)
	}
	if r := rows[0]; !same(r.Roll, []float64{-1, -2}) || !slices.Equal(r.Token, []int32{7, 70000}) || !slices.Equal(r.Prompt, []int32{5}) || r.Temperature != 0.7 || r.Env != "math" || r.Advantage[0] != 0.5 || r.Old != nil {
		t.Errorf("%+v", r)
	}
	if r := rows[1]; !same(r.Roll, []float64{-3}) || !slices.Equal(r.Prompt, []int32{6}) || r.Env != "code" || r.Temperature != 1 {
		t.Errorf("%+v", r)
	}
	if r := rows[2]; !same(r.Roll, []float64{-2}) || !slices.Equal(r.Prompt, []int32{5, 7}) {
		t.Errorf("%+v", r)
	}
	for n := 2; n < len(transported); n++ {
		rows, about, err := readBytes(transported[:n])
		if refused := (*reader.Refused)(nil); err != nil && !errors.As(err, &refused) || err == nil && about.Damaged == 0 || len(rows) > 2 {
			t.Fatalf("%d of %d bytes: %d rows, %v", n, len(transported), len(rows), err)
		}
	}
}

// What is no such file is refused by name, and a micro batch that is broken ends the reading.
func TestHostileTransport(t *testing.T) {
	short := microBatch()
	short[3] = list(-1.0)
	typed := microBatch()
	typed[0] = list("a")
	for name, c := range map[string]struct {
		file []byte
		says string
	}{
		"nothing":     {[]byte{0x90, 0x90}, "without micro batches"},
		"promises":    {[]byte{0xdd, 0xff, 0xff, 0xff, 0xff, 0}, "4294967295 entries or bytes in a file that has 1 more"},
		"long column": {append([]byte{0x91, 0x99, 0xdd, 0x7f, 0xff, 0xff, 0xff}, make([]byte, 99)...), "2147483647 entries or bytes"},
		"few fields":  {msgpack([]any{list(1, 2)}), "2 fields, where at least 9 belong"},
		"lengths":     {msgpack([]any{short}), "inference_logprobs has 1 entries for 6 tokens"},
		"texts":       {msgpack([]any{typed}), "input_ids: entry 0 is no number"},
		"deep":        {append(msgpack([]any{microBatch()})[:1], slices.Concat([]byte{0x9b}, msgpack(microBatch())[1:], []byte{0xc0}, slices.Repeat([]byte{0x91}, 99))...), "levels deep"},
	} {
		rows, _, err := readBytes(c.file)
		if refused := (*reader.Refused)(nil); !errors.As(err, &refused) || !strings.Contains(err.Error(), c.says) || len(rows) > 0 {
			t.Errorf("%s: %d rows, %v, want a refusal with %q", name, len(rows), err, c.says)
		}
	}
	long := microBatch()
	long[5] = list(3, 9)
	rows, about, err := readBytes(msgpack([]any{long, short, microBatch()}))
	if err != nil || len(rows) != 1 || about.Damaged != 2 || !strings.Contains(about.Damage[0].Reason, "a sequence of 9 tokens") || !strings.Contains(about.Damage[1].Reason, "micro batch 1: inference_logprobs") {
		t.Errorf("%v %d rows, %+v", err, len(rows), about)
	}
}
