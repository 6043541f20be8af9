package main

import "testing"

// The words are those that LLVM 14 gives the same instructions (llvm-mc
// -triple=aarch64 -show-encoding).
func TestEncodings(t *testing.T) {
	tested := map[string]bool{}
	for _, c := range []struct {
		name      string
		registers []int
		spelling  string
		word      uint32
	}{
		{"FADD", []int{21, 10, 31}, "FADD V21.4S, V10.4S, V31.4S", 0x4e3fd555},
		{"FSUB", []int{21, 10, 31}, "FSUB V21.4S, V10.4S, V31.4S", 0x4ebfd555},
		{"FMUL", []int{21, 10, 31}, "FMUL V21.4S, V10.4S, V31.4S", 0x6e3fdd55},
		{"FDIV", []int{21, 10, 31}, "FDIV V21.4S, V10.4S, V31.4S", 0x6e3ffd55},
		{"FMAX", []int{21, 10, 31}, "FMAX V21.4S, V10.4S, V31.4S", 0x4e3ff555},
		{"FMIN", []int{21, 10, 31}, "FMIN V21.4S, V10.4S, V31.4S", 0x4ebff555},
		{"FCMEQ", []int{21, 10, 31}, "FCMEQ V21.4S, V10.4S, V31.4S", 0x4e3fe555},
		{"CMHI", []int{21, 10, 31}, "CMHI V21.4S, V10.4S, V31.4S", 0x6ebf3555},
		{"FMLA by element", []int{21, 10, 31}, "FMLA V21.4S, V10.4S, V31.S[0]", 0x4f9f1155},
		{"FMUL by element", []int{21, 10, 31}, "FMUL V21.4S, V10.4S, V31.S[0]", 0x4f9f9155},
		{"FCVTNS", []int{21, 10}, "FCVTNS V21.4S, V10.4S", 0x4e21a955},
		{"FSQRT", []int{21, 10}, "FSQRT V21.4S, V10.4S", 0x6ea1f955},
		{"FMAXV", []int{21, 10}, "FMAXV S21, V10.4S", 0x6e30f955},
		{"UMAXV", []int{21, 10}, "UMAXV S21, V10.4S", 0x6eb0a955},
	} {
		tested[c.name] = true
		if word, spelling := encode(c.name, c.registers...); word != c.word || spelling != c.spelling {
			t.Errorf("%s is %08x, %q; want %08x, %q", c.name, word, spelling, c.word, c.spelling)
		}
	}
	for name := range encodings {
		if !tested[name] {
			t.Errorf("no test knows the word of %s", name)
		}
	}
	for n, want := range map[int]uint32{1: 0x4f3f0555, 23: 0x4f290555} {
		if word, spelling := encodeShift(n, 21, 10); word != want {
			t.Errorf("%s is %08x, want %08x", spelling, word, want)
		}
	}
}
