package cluster

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"driftlab/engine/column"
	"driftlab/engine/rollout"
	"driftlab/trainer/method"
)

var _ method.Memory = (*Cluster)(nil)

// AppendState implements method.Memory: the core, the kept weights, what every
// worker is in the middle of, and the responses that wait for the learner. It is
// complete between any two commands.
func (c *Cluster) AppendState(dst []byte) []byte {
	dst = appendBytes(dst, c.Core.AppendState(nil))
	dst = appendBytes(dst, c.versions.sync.AppendState(nil))
	dst = appendInts(dst, c.ended, c.endedTokens, c.refused, len(c.versions.kept))
	for _, v := range c.versions.kept {
		dst = appendInts(dst, v.Published, v.Updates)
		dst = appendBytes(dst, method.AppendState(nil, v.Params.Trained()))
	}
	for i, e := range c.workers {
		dst = appendInts(dst, c.served[i])
		dst = appendBytes(dst, e.AppendState(nil))
	}
	dst = appendInts(dst, len(c.partial))
	for _, id := range slices.Sorted(maps.Keys(c.partial)) {
		dst = c.partial[id].AppendState(dst)
	}
	dst = appendInts(dst, len(c.samples))
	for _, n := range slices.Sorted(maps.Keys(c.samples)) {
		s := c.samples[n]
		trained := 0
		if s.trained {
			trained = 1
		}
		dst = appendInts(dst, n, s.origin, trained, len(s.ended))
		for _, r := range s.ended {
			dst = appendInts(dst, r.request, r.time)
			dst = r.AppendState(dst)
		}
	}
	dst = appendInts(dst, len(c.streamed))
	return appendInts(dst, c.streamed...)
}

// SetState implements method.Memory, on a cluster that New made of the same recipe.
func (c *Cluster) SetState(state []byte) error {
	r := reader{rest: state}
	if err := c.Core.SetState(r.bytes()); err != nil {
		return err
	}
	if _, err := c.versions.sync.SetState(r.bytes()); err != nil {
		return err
	}
	c.ended, c.endedTokens, c.refused = r.int(), r.int(), r.int()
	first := c.versions.kept[0].Params
	c.versions.kept = nil
	for range r.int() {
		published, updates := r.int(), r.int()
		p := first.Clone()
		if err := method.ReadState(r.bytes(), p.Trained()); err != nil {
			return err
		}
		p.Merge()
		c.versions.publish(p, published, updates)
	}
	if len(c.versions.kept) == 0 {
		return errors.New("a state without weights")
	}
	for i, e := range c.workers {
		c.served[i] = r.int()
		v := slices.IndexFunc(c.versions.kept, func(x Version) bool { return x.Published == c.served[i] })
		if v < 0 {
			return fmt.Errorf("the weights of worker %d are not there", i)
		}
		e.Load(c.versions.kept[v].of(c.misses(i)), rollout.Reprefill)
		if err := e.SetState(r.bytes(), c.sampling, c.versions.weights, c.tool); err != nil {
			return err
		}
	}
	clear(c.partial)
	for range r.int() {
		p, rest, err := rollout.ReadPartial(r.rest, c.versions.weights, c.tool)
		if err != nil {
			return err
		}
		c.partial[p.Request().ID], r.rest = p, rest
	}
	clear(c.samples)
	for range r.int() {
		n, s := r.int(), new(sample)
		s.origin, s.trained = r.int(), r.int() != 0
		for range r.int() {
			one := response{r.int(), r.int(), new(column.Sampled)}
			rest, err := one.ReadState(r.rest)
			if err != nil {
				return err
			}
			s.ended, r.rest = append(s.ended, one), rest
		}
		c.samples[n] = s
	}
	c.streamed = c.streamed[:0]
	for range r.int() {
		c.streamed = append(c.streamed, r.int())
	}
	if r.broken || len(r.rest) > 0 {
		return fmt.Errorf("a state of %d bytes is not one of this cluster", len(state))
	}
	return nil
}

func appendInts(dst []byte, values ...int) []byte {
	for _, v := range values {
		dst = binary.AppendVarint(dst, int64(v))
	}
	return dst
}

func appendBytes(dst, data []byte) []byte { return append(appendInts(dst, len(data)), data...) }

// reader decodes a state. Once broken it gives zeroes, and no bytes.
type reader struct {
	rest   []byte
	broken bool
}

func (r *reader) int() int {
	v, n := binary.Varint(r.rest)
	if r.broken = r.broken || n <= 0; r.broken {
		return 0
	}
	r.rest = r.rest[n:]
	return int(v)
}

func (r *reader) bytes() []byte {
	n := r.int()
	if r.broken = r.broken || n < 0 || n > len(r.rest); r.broken {
		return nil
	}
	data := r.rest[:n]
	r.rest = r.rest[n:]
	return data
}
