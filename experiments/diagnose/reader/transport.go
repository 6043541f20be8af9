package reader

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"
)

// transported are the fields of prime-rl's MicroBatch, in the order in which they stand: the first ones are always there,
// what comes after them may be left out. A field that ends in a - is passed over.
//
// Source: prime-rl, src/prime_rl/transports/rollouts/types.py, commit 559b44772.
var transported = strings.Fields(`input_ids loss_mask advantages inference_logprobs position_ids- sequence_lengths temperatures env_names seq_lens- ref_logprobs
	routed_experts- mm_kwargs- mm_token_type_ids- rl_weights ce_weights- ref_kl_weights`)

// transportedAlways is how many of them every micro batch has.
const transportedAlways = 9

// readTransport reads prime-rl's rollouts/step_{n}/rank_{r}.bin, a list of micro batches in msgpack: each packs sequences,
// prompt and response alike, with the rollout engine's log-probs.
func (f *File) readTransport(in Input, visit func(*Row) error) error {
	m := &unpacker{in: bufio.NewReaderSize(io.NewSectionReader(in.At, 0, in.Size), 1<<16), size: in.Size, left: in.most().numbers, most: in.most().numbers}
	batches, err := m.list()
	if err != nil {
		return &Refused{in.Name, err.Error(), "of files of msgpack prime-rl's rank_{r}.bin can be read"}
	}
	var b microBatch
	for i := range batches {
		if err := b.read(m); err != nil {
			if i == 0 {
				return &Refused{in.Name, "no list of micro batches as prime-rl 559b44772 writes it: " + err.Error(), "enable_token_export of the trainer writes what can be read"}
			}
			f.damage(f.Rows+1, m.pos, fmt.Sprintf("micro batch %d: %v", i, err))
			return nil // where the next one begins is unknown
		}
		f.Format = "prime-transport"
		f.note(formatOf("prime-transport").Notes[0])
		if err := f.sequences(&b, visit); err != nil {
			return err
		}
	}
	if f.Format == "" {
		return &Refused{in.Name, "a list without micro batches", "write it again"}
	}
	return nil
}

// microBatch is what is read of one.
type microBatch struct {
	column  named
	lengths []float64 // of its sequences
	envs    []string  // of the tokens
}

func (b *microBatch) read(m *unpacker) error {
	n, err := m.list()
	if err != nil {
		return err
	}
	if n < transportedAlways {
		return fmt.Errorf("%d fields, where at least %d belong", n, transportedAlways)
	}
	b.column, b.envs, m.left = named{}, nil, m.most
	format := formatOf("prime-transport")
	for i := range n {
		field := "-"
		if i < len(transported) {
			field = transported[i]
		}
		switch {
		case strings.HasSuffix(field, "-"):
			err = m.skip(0)
		case field == "sequence_lengths":
			b.lengths, err = m.numbers()
		case field == "env_names":
			b.envs, err = m.texts()
		default:
			b.column[format.keys[format.index[field].place].name], err = m.numbers()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", strings.TrimSuffix(field, "-"), err)
		}
	}
	for _, k := range format.keys {
		if c := b.column[k.name]; c != nil && len(c) != len(b.column["token_ids"]) {
			return fmt.Errorf("%s has %d entries for %d tokens", k.names[0], len(c), len(b.column["token_ids"]))
		}
	}
	return nil
}

// sequences hands the sequences of a micro batch on, each cut where its training begins and ends.
func (f *File) sequences(b *microBatch, visit func(*Row) error) error {
	from := 0
	for _, length := range b.lengths {
		n := wholeOf(length)
		if n < 0 || n > len(b.column["token_ids"])-from || n > rowTokens {
			f.damage(f.Rows+1, 0, fmt.Sprintf("a sequence of %v tokens at token %d of %d", length, from, len(b.column["token_ids"])))
			return nil
		}
		c := named{}
		for name, x := range b.column {
			if x != nil {
				c[name] = x[from : from+n]
			}
		}
		s := sequence{n: n, to: n, column: c.column, called: formatOf("prime-transport").own, trained: primeTrained(c["mask"], c["rl_weights"], c["ref_kl_weights"])}
		for s.from < s.to && !s.trained(s.from) {
			s.from++
		}
		for s.to > s.from && !s.trained(s.to-1) {
			s.to--
		}
		var row Row
		row.reset()
		row.Line, row.Step = f.Rows+1, StepNamed(f.Name)
		if from < len(b.envs) {
			row.Env = b.envs[from]
		}
		err := row.fill(s)
		if t := c["temperatures"]; s.from < s.to && t != nil {
			row.Temperature = t[s.from]
		}
		from += n
		if err != nil {
			f.damage(row.Line, 0, err.Error())
			continue
		}
		if err := f.send(&row, visit); err != nil {
			return err
		}
	}
	return nil
}

// unpacker reads msgpack from front to back. It builds no values: the caller says what belongs where, and the rest is
// passed over without being held.
//
// Source: the specification of msgpack, spec.md of github.com/msgpack/msgpack.
type unpacker struct {
	in   *bufio.Reader
	pos  int64
	size int64
	left int // numbers that may still be read
	most int // of a micro batch
}

// packed is the beginning of a value: its kind, and its length or its number.
type packed struct {
	kind byte // of kinds
	n    int64
	x    float64
}

// The kinds of values; parts is a list of n, pairs a map of n, plain n bytes, and word n bytes of text.
const (
	packedNil = iota
	packedNumber
	packedWord
	packedPlain
	packedParts
	packedPairs
)

// take reads n bytes, at most eight, as a number.
func (m *unpacker) take(n int) (uint64, error) {
	var b [8]byte
	if _, err := io.ReadFull(m.in, b[8-n:]); err != nil {
		return 0, fmt.Errorf("it is cut at byte %d", m.size)
	}
	m.pos += int64(n)
	return binary.BigEndian.Uint64(b[:]), nil
}

func (m *unpacker) next() (packed, error) {
	tag, err := m.take(1)
	if err != nil {
		return packed{}, err
	}
	sized := func(kind byte, bytes, more int) (packed, error) {
		n, err := m.take(bytes)
		size := int64(n) + int64(more)
		if err == nil && size > m.size-m.pos {
			err = fmt.Errorf("byte %d: %d entries or bytes in a file that has %d more", m.pos, n, m.size-m.pos)
		}
		return packed{kind: kind, n: size}, err
	}
	whole := func(bytes int, signed bool) (packed, error) {
		n, err := m.take(bytes)
		x := float64(n)
		if shift := 64 - 8*bytes; signed {
			x = float64(int64(n<<shift) >> shift)
		}
		return packed{kind: packedNumber, x: x}, err
	}
	switch {
	case tag < 0x80:
		return packed{kind: packedNumber, x: float64(tag)}, nil
	case tag < 0x90:
		return packed{kind: packedPairs, n: int64(tag & 0xf)}, nil
	case tag < 0xa0:
		return packed{kind: packedParts, n: int64(tag & 0xf)}, nil
	case tag < 0xc0:
		return packed{kind: packedWord, n: int64(tag & 0x1f)}, nil
	case tag >= 0xe0:
		return packed{kind: packedNumber, x: float64(int8(tag))}, nil
	}
	switch tag {
	case 0xc0:
		return packed{}, nil
	case 0xc2, 0xc3:
		return packed{kind: packedNumber, x: float64(tag & 1)}, nil
	case 0xc4, 0xc5, 0xc6:
		return sized(packedPlain, 1<<(tag-0xc4), 0)
	case 0xc7, 0xc8, 0xc9: // a type stands before the bytes
		return sized(packedPlain, 1<<(tag-0xc7), 1)
	case 0xca:
		n, err := m.take(4)
		return packed{kind: packedNumber, x: float64(math.Float32frombits(uint32(n)))}, err
	case 0xcb:
		n, err := m.take(8)
		return packed{kind: packedNumber, x: math.Float64frombits(n)}, err
	case 0xcc, 0xcd, 0xce, 0xcf:
		return whole(1<<(tag-0xcc), false)
	case 0xd0, 0xd1, 0xd2, 0xd3:
		return whole(1<<(tag-0xd0), true)
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8:
		return packed{kind: packedPlain, n: 1 + 1<<(tag-0xd4)}, nil
	case 0xd9, 0xda, 0xdb:
		return sized(packedWord, 1<<(tag-0xd9), 0)
	case 0xdc, 0xdd:
		return sized(packedParts, 2<<(tag-0xdc), 0)
	case 0xde, 0xdf:
		return sized(packedPairs, 2<<(tag-0xde), 0)
	}
	return packed{}, fmt.Errorf("byte %d: %#x begins no value", m.pos-1, tag)
}

// list reads the beginning of a list, and says how many entries it has.
func (m *unpacker) list() (int, error) {
	v, err := m.next()
	if err == nil && v.kind != packedParts {
		err = fmt.Errorf("byte %d: no list where one belongs", m.pos)
	}
	return int(v.n), err
}

// numbers reads a list of numbers and truth values, nil for nil.
func (m *unpacker) numbers() ([]float64, error) {
	v, err := m.next()
	if err != nil || v.kind == packedNil {
		return nil, err
	}
	if v.kind != packedParts {
		return nil, fmt.Errorf("byte %d: no list where one belongs", m.pos)
	}
	if m.left -= int(v.n); m.left < 0 {
		return nil, fmt.Errorf("more than %d numbers: raise --max-memory", m.most)
	}
	x := make([]float64, v.n)
	for i := range x {
		v, err := m.next()
		switch {
		case err != nil:
			return nil, err
		case v.kind == packedNil:
			v.x = nan
		case v.kind != packedNumber:
			return nil, fmt.Errorf("entry %d is no number", i)
		}
		x[i] = v.x
	}
	return x, nil
}

// texts reads a list of texts, of which equal ones follow each other.
func (m *unpacker) texts() ([]string, error) {
	n, err := m.list()
	if err != nil {
		return nil, err
	}
	if m.left -= 2 * n; m.left < 0 { // a text's header is as long as two numbers
		return nil, fmt.Errorf("more than %d numbers: raise --max-memory", m.most)
	}
	list := make([]string, n)
	for i := range list {
		v, err := m.next()
		if err == nil && (v.kind != packedWord || v.n > longestEnv) {
			err = fmt.Errorf("entry %d is no text of at most %d bytes", i, longestEnv)
		}
		if err != nil {
			return nil, err
		}
		word, err := m.in.Peek(int(v.n))
		if err != nil {
			return nil, fmt.Errorf("it is cut at byte %d", m.size)
		}
		if i > 0 && list[i-1] == string(word) {
			list[i] = list[i-1]
		} else if m.left -= longestEnv / 8; m.left < 0 {
			return nil, fmt.Errorf("more than %d numbers: raise --max-memory", m.most)
		} else {
			list[i] = string(word)
		}
		m.pass(v.n)
	}
	return list, nil
}

func (m *unpacker) pass(n int64) error {
	for n > 0 {
		k, err := m.in.Discard(int(min(n, math.MaxInt32)))
		m.pos, n = m.pos+int64(k), n-int64(k)
		if err != nil {
			return fmt.Errorf("it is cut at byte %d", m.size)
		}
	}
	return nil
}

func (m *unpacker) skip(depth int) error {
	v, err := m.next()
	if err != nil {
		return err
	}
	if depth > deepest {
		return fmt.Errorf("more than %d levels deep", deepest)
	}
	entries := v.n
	switch v.kind {
	case packedPairs:
		entries *= 2
	case packedWord, packedPlain:
		return m.pass(v.n)
	case packedNil, packedNumber:
		return nil
	}
	for range entries {
		if err := m.skip(depth + 1); err != nil {
			return err
		}
	}
	return nil
}
