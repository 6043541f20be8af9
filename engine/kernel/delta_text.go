package kernel

import (
	"fmt"
	"strconv"
	"strings"

	"driftlab/precision"
)

// Names of the two forms, and the chunk that the chunked one has without a number.
const (
	recurrentName   = "recurrent"
	chunkedName     = "chunked"
	usualDeltaChunk = 16
	// maxDeltaChunk bounds the chunks: a decoding step computes its own again.
	maxDeltaChunk = 256
)

// Validate reports whether chunk and state are possible.
func (l LinearAttention) Validate() error {
	if l.Chunk < 0 || l.Chunk > maxDeltaChunk {
		return fmt.Errorf("kernel: linear attention has chunks of 1 to %d positions, not %d", maxDeltaChunk, l.Chunk)
	}
	if l.State == (precision.Format{}) {
		return nil
	}
	if l.State.Integer() {
		return fmt.Errorf("kernel: the state of linear attention has no scale: use a floating-point format, not %s", l.State)
	}
	return l.State.Validate()
}

// String returns "recurrent", "chunked:16", "recurrent:bf16", "chunked:16:bf16": the form, and
// the format of the state where it is not float32.
func (l LinearAttention) String() string {
	text := recurrentName
	if l.Chunk != 0 {
		text = chunkedName + ":" + strconv.Itoa(l.Chunk)
	}
	if !exact(l.State) {
		text += ":" + l.State.String()
	}
	return text
}

// MarshalText writes String.
func (l LinearAttention) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads what String writes; "chunked" alone has chunks of 16.
func (l *LinearAttention) UnmarshalText(text []byte) error {
	parts := strings.Split(string(text), ":")
	form := LinearAttention{}
	rest := parts[1:]
	switch parts[0] {
	case recurrentName:
	case chunkedName:
		form.Chunk = usualDeltaChunk
		if len(rest) > 0 && rest[0] != "" && rest[0][0] >= '0' && rest[0][0] <= '9' {
			n, err := strconv.Atoi(rest[0])
			if err != nil || n < 1 {
				return fmt.Errorf("linear attention %q: %q is not a number of positions, 1 to %d", text, rest[0], maxDeltaChunk)
			}
			form.Chunk, rest = n, rest[1:]
		}
	default:
		return fmt.Errorf("unknown form of linear attention %q: use recurrent or chunked:16, with the format of the state behind it, such as recurrent:bf16", text)
	}
	if len(rest) > 1 {
		return fmt.Errorf("linear attention %q: nothing goes behind the format of the state, such as recurrent:bf16", text)
	}
	if len(rest) == 1 {
		f, err := precision.ParseFormat(rest[0])
		if err != nil {
			return fmt.Errorf("linear attention %q: the state: %w", text, err)
		}
		if !f.Identity() {
			form.State = f
		}
	}
	if err := form.Validate(); err != nil {
		return err
	}
	*l = form
	return nil
}
