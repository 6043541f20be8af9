package memorytest

import (
	"strings"
	"testing"

	"driftlab/trainer/method"
)

// sum remembers the sum of the batches.
type sum struct{ x float64 }

func (s *sum) add(x float64) []float64 { s.x += x; return []float64{s.x} }

// kept is sum with a Memory, cut one that takes anything.
type (
	kept struct{ sum }
	cut  struct{ kept }
)

func (k *kept) AppendState(dst []byte) []byte { return method.AppendState(dst, k.x) }
func (k *kept) SetState(state []byte) error   { return method.ReadState(state, &k.x) }
func (c *cut) SetState(state []byte) error    { _ = c.kept.SetState(state); return nil }

// A method that remembers passes with a Memory, and only then.
func TestCheck(t *testing.T) {
	remembers, err := Check(3, func() *kept { return &kept{} }, func(m *kept, k int) ([]float64, error) { return m.add(float64(k + 1)), nil })
	if err != nil || !remembers {
		t.Errorf("remembers %v: %v", remembers, err)
	}
	_, err = Check(3, func() *sum { return &sum{} }, func(m *sum, k int) ([]float64, error) { return m.add(float64(k + 1)), nil })
	if err == nil || !strings.Contains(err.Error(), "batch 1: resumed [2], without interruption [3]") {
		t.Errorf("a sum without a memory: %v", err)
	}
	_, err = Check(3, func() *cut { return &cut{} }, func(m *cut, k int) ([]float64, error) { return m.add(float64(k + 1)), nil })
	if err == nil || !strings.Contains(err.Error(), "cut short") {
		t.Errorf("half a state: %v", err)
	}
	remembers, err = Check(3, func() *sum { return &sum{} }, func(_ *sum, k int) ([]float64, error) { return []float64{float64(k)}, nil })
	if err != nil || remembers {
		t.Errorf("what only reads remembers %v: %v", remembers, err)
	}
}
