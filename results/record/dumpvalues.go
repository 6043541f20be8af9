package record

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Routes are the experts that tokens visited, flat in the order
// [token][layer][rank]; in JSON they are nested lists.
type Routes struct {
	Layers, TopK int
	// Expert has Layers*TopK entries per token; nil when not recorded.
	Expert []uint8
}

// MarshalJSON writes the nested lists, or null where nothing was recorded.
func (r Routes) MarshalJSON() ([]byte, error) { return appendRoutes(nil, r) }

// UnmarshalJSON reads what MarshalJSON writes.
func (r *Routes) UnmarshalJSON(text []byte) error {
	var nested [][][]uint16 // []uint8 would be read as base64
	if err := json.Unmarshal(text, &nested); err != nil {
		return err
	}
	*r = Routes{}
	if nested == nil {
		return nil
	}
	r.Expert = []uint8{}
	for t, layers := range nested {
		if t == 0 {
			r.Layers = len(layers)
			if r.Layers > 0 {
				r.TopK = len(layers[0])
			}
		}
		if len(layers) != r.Layers {
			return fmt.Errorf("routes: token %d has %d layers, token 0 has %d", t, len(layers), r.Layers)
		}
		for l, ranks := range layers {
			if len(ranks) != r.TopK {
				return fmt.Errorf("routes: token %d, layer %d has %d experts, the first has %d", t, l, len(ranks), r.TopK)
			}
			for _, e := range ranks {
				if e > 255 {
					return fmt.Errorf("routes: expert %d is out of range", e)
				}
				r.Expert = append(r.Expert, uint8(e))
			}
		}
	}
	return nil
}

// KVMasks are the positions that tokens still saw in a compressed KV cache,
// flat in the order [token][plane][word]. In JSON, [token][plane], a plane is a
// hexadecimal number: position p of the sequence, prompt included, is its bit p.
type KVMasks struct {
	// Planes is 1, or one for each layer and key head, in this order; Words is the
	// length of a plane.
	Planes, Words int
	// Kept has bit p%64 of word p/64 set for position p; nil for a full cache.
	Kept []uint64
}

// tokens is how many the masks are of; -1 for masks without a shape.
func (m KVMasks) tokens() int {
	per := m.Planes * m.Words
	if len(m.Kept) == 0 {
		return 0
	}
	if per < 1 || len(m.Kept)%per != 0 {
		return -1
	}
	return len(m.Kept) / per
}

// MarshalJSON writes the nested lists, or null for a full cache.
func (m KVMasks) MarshalJSON() ([]byte, error) {
	if m.tokens() < 0 {
		return nil, fmt.Errorf("record: kv masks: %d words for %d planes of %d", len(m.Kept), m.Planes, m.Words)
	}
	return appendKVMasks(nil, m), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (m *KVMasks) UnmarshalJSON(text []byte) error {
	var nested [][]string
	if err := json.Unmarshal(text, &nested); err != nil {
		return err
	}
	*m = KVMasks{}
	if nested == nil {
		return nil
	}
	m.Kept = []uint64{}
	for t, planes := range nested {
		if t == 0 && len(planes) > 0 {
			m.Planes, m.Words = len(planes), len(planes[0])/16
		}
		if len(planes) != m.Planes || m.Planes == 0 {
			return fmt.Errorf("kv_kept: token %d has %d planes, token 0 has %d", t, len(planes), m.Planes)
		}
		for _, plane := range planes {
			if m.Words == 0 || len(plane) != 16*m.Words {
				return fmt.Errorf("kv_kept: token %d: want %d hexadecimal digits, have %q", t, max(16*m.Words, 16), plane)
			}
			for w := m.Words; w > 0; w-- { // the last word is written first
				word, err := strconv.ParseUint(plane[16*(w-1):16*w], 16, 64)
				if err != nil {
					return fmt.Errorf("kv_kept: token %d: want hexadecimal digits, have %q", t, plane)
				}
				m.Kept = append(m.Kept, word)
			}
		}
	}
	return nil
}

func appendKVMasks(b []byte, m KVMasks) []byte {
	if m.Kept == nil {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for t := range m.tokens() {
		if t > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		for plane := range m.Planes {
			if plane > 0 {
				b = append(b, ',')
			}
			b = append(b, '"')
			words := m.Kept[(t*m.Planes+plane)*m.Words:][:m.Words]
			for w := m.Words - 1; w >= 0; w-- {
				b = fmt.Appendf(b, "%016x", words[w])
			}
			b = append(b, '"')
		}
		b = append(b, ']')
	}
	return append(b, ']')
}

// appendList appends a list, null for nil.
func appendList[T any](b []byte, list []T, entry func([]byte, T) []byte) []byte {
	if list == nil {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = entry(b, v)
	}
	return append(b, ']')
}

func appendInts(b []byte, list []int32) []byte {
	return appendList(b, list, func(b []byte, v int32) []byte { return strconv.AppendInt(b, int64(v), 10) })
}

func appendRoutes(b []byte, r Routes) ([]byte, error) {
	if r.Expert == nil {
		return append(b, "null"...), nil
	}
	if len(r.Expert) == 0 {
		return append(b, "[]"...), nil
	}
	per := r.Layers * r.TopK
	if per < 1 || len(r.Expert)%per != 0 {
		return b, fmt.Errorf("record: routes: %d entries for %d layers, top-%d", len(r.Expert), r.Layers, r.TopK)
	}
	b = append(b, '[')
	for i, e := range r.Expert {
		if i%per == 0 {
			if i > 0 {
				b = append(b, "]],"...)
			}
			b = append(b, "[["...)
		} else if i%r.TopK == 0 {
			b = append(b, "],["...)
		} else {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, uint64(e), 10)
	}
	return append(b, "]]]"...), nil
}
