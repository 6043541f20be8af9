package kernel

import (
	"strings"
	"testing"

	"driftlab/precision"
)

func TestReductionText(t *testing.T) {
	for _, c := range []struct {
		text string
		want Reduction
	}{
		{"canonical", Reduction{}},
		{"unfused", Reduction{Unfused: true}},
		{"unfused+batch_variant", Reduction{Unfused: true, BatchVariant: true}},
		{"canonical+batch_variant", Reduction{BatchVariant: true}},
		{"pairwise:8", Reduction{Kind: Pairwise, Leaf: 8}},
		{"split_k:4", Reduction{Kind: SplitK, Parts: 4}},
		{"split_k:4+unfused+batch_variant", Reduction{Kind: SplitK, Parts: 4, Unfused: true, BatchVariant: true}},
		{"tensor_parallel:4:ring:bf16", Reduction{Kind: TensorParallel, Parts: 4, Wire: precision.BF16}},
		{"tensor_parallel:2:tree:fp32", Reduction{Kind: TensorParallel, Parts: 2, Topology: TreeAllReduce, Wire: precision.FP32}},
		{"tree:16", Reduction{Kind: Tree, Leaf: 16}},
		{"tree:4:8", Reduction{Kind: Tree, Leaf: 4, Parts: 8}},
		{"canonical+promote:128", Reduction{Promote: 128}},
		{"unfused+promote:32", Reduction{Unfused: true, Promote: 32}},
		{"tree:4:2+unfused+promote:8+batch_variant", Reduction{Kind: Tree, Leaf: 4, Parts: 2, Unfused: true, Promote: 8, BatchVariant: true}},
	} {
		got, err := ParseReduction(c.text)
		if err != nil || got != c.want {
			t.Errorf("ParseReduction(%q) = %+v, %v; want %+v", c.text, got, err, c.want)
		}
		if s := c.want.String(); s != c.text {
			t.Errorf("String of %+v = %q, want %q", c.want, s, c.text)
		}
		var back Reduction
		if text, err := c.want.MarshalText(); err != nil || back.UnmarshalText(text) != nil || back != c.want {
			t.Errorf("%q does not survive its text: %+v, %v", c.text, back, err)
		}
	}
	if r, err := ParseReduction("tree:4:1"); err != nil || r != (Reduction{Kind: Tree, Leaf: 4}) {
		t.Errorf(`"tree:4:1" = %+v, %v`, r, err)
	}
	if r, err := ParseReduction("canonical+unfused"); err != nil || r != (Reduction{Unfused: true}) {
		t.Errorf(`"canonical+unfused" = %+v, %v`, r, err)
	}
}

func TestReductionTextErrors(t *testing.T) {
	for _, c := range []struct{ text, says string }{
		{"pairwize:8", `"pairwise:8"`},
		{"splitk:4", `"split_k:4"`},
		{"canonicle", `"canonical"`},
		{"", `did you mean`},
		{"split_k", `"split_k:4"`},
		{"split_k:1", "2 to 256"},
		{"split_k:x", "whole number"},
		{"tree:0", "leaf of 1 or more"},
		{"canonical:3", "not 0"},
		{"tensor_parallel:4:rung:bf16", `"ring"`},
		{"tensor_parallel:4:ring:bf15", "bf16"},
		{"split_k:4+unfuzed", "+unfused"},
		{"unfused:3", "did you mean"},
		{"tree:4:x", "whole number"},
		{"tree:4:2:2", "3 fields"},
		{"tree:4:300", "2 to 256"},
		{"canonical+promote", "+promote:128"},
		{"canonical+promote:0", "1 or more"},
		{"canonical+promot:8", "+promote:128"},
	} {
		_, err := ParseReduction(c.text)
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("ParseReduction(%q): error %v, want one line with %q", c.text, err, c.says)
		}
	}
	if _, err := (Reduction{Kind: SplitK}).MarshalText(); err == nil {
		t.Error("split_k without parts was marshalled")
	}
}

func FuzzParseReduction(f *testing.F) {
	for _, s := range []string{"canonical", "tensor_parallel:4:ring:bf16+unfused", "tree:8:4+promote:16+batch_variant", "split_k:"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseReduction(s)
		if err != nil {
			return
		}
		if again, err := ParseReduction(r.String()); err != nil || again != r {
			t.Errorf("%q parses to %+v, whose text %q parses to %+v, %v", s, r, r.String(), again, err)
		}
	})
}

func TestReductionAt(t *testing.T) {
	variant := Reduction{Kind: Pairwise, Leaf: 8, Unfused: true, BatchVariant: true}
	ring := Reduction{Kind: TensorParallel, Parts: 4, Wire: precision.BF16, BatchVariant: true}
	tree := Reduction{Kind: TensorParallel, Parts: 4, Wire: precision.BF16, Topology: TreeAllReduce}
	for _, c := range []struct {
		r    Reduction
		rows int
		want string
	}{
		{variant, 1, "split_k:4+unfused"}, {variant, 15, "split_k:4+unfused"}, {variant, 16, "split_k:2+unfused"},
		{variant, 63, "split_k:2+unfused"}, {variant, 64, "pairwise:8+unfused"},
		{ring, 63, tree.String()}, {ring, 64, "tensor_parallel:4:ring:bf16"},
		{Reduction{Kind: Tree, Leaf: 4}, 1, "tree:4"},
	} {
		if got := c.r.At(c.rows).String(); got != c.want {
			t.Errorf("%v at %d rows = %s, want %s", c.r, c.rows, got, c.want)
		}
	}
}

func TestAttentionKernelText(t *testing.T) {
	for _, k := range []AttentionKernel{TwoPass, Online, SplitKV, ContextParallel} {
		var back AttentionKernel
		text, err := k.MarshalText()
		if err != nil || back.UnmarshalText(text) != nil || back != k {
			t.Errorf("%v does not survive its text %q: %v, %v", k, text, back, err)
		}
	}
	var k AttentionKernel
	if err := k.UnmarshalText([]byte("onlin")); err == nil || !strings.Contains(err.Error(), `"online"`) {
		t.Errorf("misspelt kernel: %v", err)
	}
	if _, err := AttentionKernel(9).MarshalText(); err == nil {
		t.Error("an unknown kernel was marshalled")
	}
}
