package kernel

import (
	"fmt"

	"driftlab/precision"
)

var attentionNames = [...]string{TwoPass: "two_pass", Online: "online", SplitKV: "split_kv", Normalized: "normalized", ContextParallel: "context_parallel"}

// String returns "two_pass", "online", "split_kv", "normalized" or "context_parallel".
func (k AttentionKernel) String() string {
	if int(k) < len(attentionNames) {
		return attentionNames[k]
	}
	return fmt.Sprintf("attention_kernel(%d)", uint8(k))
}

// MarshalText writes the name; an unknown kernel is an error.
func (k AttentionKernel) MarshalText() ([]byte, error) {
	if int(k) >= len(attentionNames) {
		return nil, fmt.Errorf("kernel: unknown attention kernel %d", uint8(k))
	}
	return []byte(attentionNames[k]), nil
}

// UnmarshalText reads "two_pass", "online", "split_kv", "normalized" or "context_parallel".
func (k *AttentionKernel) UnmarshalText(text []byte) error {
	for i, n := range attentionNames {
		if n == string(text) {
			*k = AttentionKernel(i)
			return nil
		}
	}
	return fmt.Errorf("unknown attention kernel %q; did you mean %q?", text, precision.NearestName(string(text), attentionNames[:]))
}
