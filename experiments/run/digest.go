package run

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
)

// Digest names all that a run came to: its resolved recipe, every figure of every step
// and the final weights, which a stopped run has none of. It is the same on any number of
// cores and in a browser, and that of a record that is read back.
func (r *Result) Digest() string {
	h := sha256.New()
	h.Write(r.Record.Recipe)
	for i := range r.Record.Columns {
		c := &r.Record.Columns[i]
		h.Write([]byte(c.Name))
		for k, step := range c.Step {
			h.Write(binary.LittleEndian.AppendUint64(nil, uint64(step)))
			v := c.Value[k]
			if math.IsNaN(v) {
				v = math.NaN() // of whatever bits
			}
			h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))
		}
	}
	if r.Params != nil && r.Summary.Reason == "" {
		_ = binary.Write(h, binary.LittleEndian, r.Params.Theta) // a hash takes everything
	}
	return hex.EncodeToString(h.Sum(nil))
}
