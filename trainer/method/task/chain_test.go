package task

import "testing"

// tokens turns words of the shared vocabulary into ids.
func tokens(t *testing.T, vocab []string, words string) []int32 {
	t.Helper()
	ids, err := Parse(vocab, words)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func TestChainVerify(t *testing.T) {
	c := NewChain()
	p := Prompt{
		Tokens: tokens(t, sharedVocab, "<bos> c + 3 b * 4 a - 2 : 7"),
		Answer: tokens(t, sharedVocab, "8"),
	}
	// The values are worked by hand: 7+3=0, 0*4=0, 0-2=8 (mod 10).
	for _, tc := range []struct {
		name, response  string
		correct, format bool
		valid, exact    string // one letter per step: y or n
	}{
		{"right", "c 0 b 0 a 8 # 8 <eos>", true, true, "yyy", "yyy"},
		{"wrong step, wrong answer", "c 0 b 1 a 9 # 9 <eos>", false, true, "yny", "ynn"},
		{"wrong step, right answer", "c 0 b 1 a 9 # 8 <eos>", true, true, "yny", "ynn"},
		{"two errors that cancel", "c 0 b 1 a 8 # 8 <eos>", true, true, "ynn", "yny"},
		{"answer not the last value", "c 0 b 0 a 8 # 7 <eos>", false, true, "yyy", "yyy"},
		{"no working", "# 8 <eos>", true, false, "", ""},
		{"working stops early", "c 0 b 0 # 8 <eos>", true, false, "yy", "yy"},
		{"working goes on", "c 0 b 0 a 8 a 8 # 8 <eos>", true, false, "yyy", "yyy"},
		{"marker out of order", "b 0 c 0 a 8 # 8 <eos>", true, false, "", ""},
		{"value is no digit", "c 0 b + a 8 # 8 <eos>", true, false, "y", "y"},
		{"truncated", "c 0 b 0 a 8 # 8", false, false, "yyy", "yyy"},
		{"truncated in the working", "c 0 b", false, false, "y", "y"},
		{"only the end", "<eos>", false, false, "", ""},
		{"empty", "", false, false, "", ""},
		{"no answer", "c 0 b 0 a 8 # <eos>", false, false, "yyy", "yyy"},
		{"two answers", "c 0 b 0 a 8 # 8 # 8 <eos>", false, false, "yyy", "yyy"},
		{"two digits", "c 0 b 0 a 8 # 8 8 <eos>", false, false, "yyy", "yyy"},
		{"text after the end", "c 0 b 0 a 8 # 8 <eos> 8", false, false, "yyy", "yyy"},
		{"end twice", "c 0 b 0 a 8 # 8 <eos> <eos>", false, false, "yyy", "yyy"},
		{"padding", "c 0 b 0 a 8 # 8 <eos> <pad>", false, false, "yyy", "yyy"},
		{"padding inside", "c 0 <pad> 0 a 8 # 8 <eos>", false, false, "y", "y"},
		{"no mark", "c 0 b 0 a 8 8 <eos>", false, false, "yyy", "yyy"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := c.Verify(p, tokens(t, sharedVocab, tc.response))
			valid, exact := flags(v.Steps())
			if v.Correct != tc.correct || v.Format != tc.format || valid != tc.valid || exact != tc.exact {
				t.Errorf("got correct %v, format %v, valid %q, exact %q", v.Correct, v.Format, valid, exact)
			}
		})
	}
}

// flags spells the verdicts of the steps as letters y and n.
func flags(steps []Step) (valid, exact string) {
	letter := map[bool]string{true: "y", false: "n"}
	for _, s := range steps {
		valid += letter[s.Valid]
		exact += letter[s.Exact]
	}
	return valid, exact
}
