package task_test

import (
	"fmt"
	"math/rand/v2"

	"driftlab/trainer/method/task"
)

// One prompt of every task with a demonstration, and what the verifier says.
func Example() {
	for _, entry := range task.Table {
		t := entry.New()
		rng := rand.New(rand.NewPCG(4, 4))
		p := task.Draw(t, rng)
		demo := t.Demonstration(nil, p, rng)
		v := t.Verify(p, demo)
		fmt.Printf("%s, difficulty %d\n  %s\n  %s\n  correct %v, %d steps\n",
			entry.Name, p.Difficulty, task.Text(t.Vocab(), p.Tokens), task.Text(t.Vocab(), demo), v.Correct, len(v.Steps()))
	}
	// Output:
	// chain, difficulty 8
	//   <bos> h * 5 g - 2 f * 5 e - 2 d + 3 c + 0 b * 4 a - 1 : 3
	//   h 5 g 3 f 5 e 3 d 6 c 6 b 4 a 6 # 6 <eos>
	//   correct false, 8 steps
	// addition, difficulty 4
	//   <bos> d 5 + 7 c 1 + 0 b 7 + 8 a 6 + 3 =
	//   d 1 2 c 0 2 b 1 5 a 1 0 # 1 a 0 b 5 c 2 d 2 <eos>
	//   correct true, 4 steps
	// search, difficulty 4
	//   <bos> b + 8 a - 1 = 0
	//   ? 0 b 8 a 7 ? 1 b 9 a 8 ? 2 b 0 a 9 ? 3 b 1 a 0 # 3 <eos>
	//   correct true, 8 steps
	// filler, difficulty 6
	//   <bos> f - 9 e * 6 d - 4 c - 8 b + 8 a + 9 : 2
	//   f 3 e 8 d 4 c 6 b 4 a 3 B G U A # 3 <eos>
	//   correct true, 6 steps
	// lookup, difficulty 4
	//   <bos> d + 3 c - 8 b - ? a + 6 : 8
	//   d 1 c 3 b @ F F D E E F 3 0 a 6 # 6 <eos>
	//   correct true, 4 steps
	// chapters, difficulty 5
	//   <bos> i w67 w19 w39 : 0 0 5
	//   b c d w60 b c : 0 0 4 c d a b c w27 : 0 0 3 b c d c d w20 : 0 0 2 b c w23 w24 b w38 : 0 0 1 c d a b w30 d # 0 0 5 <eos>
	//   correct true, 4 steps
	// tagged, difficulty 8
	//   <bos> h * 5 g - 2 f * 5 e - 2 d + 3 c + 0 b * 4 a - 1 : 3
	//   = h 5 g 3 f 5 e 3 d 6 c 6 b 4 a 6 = # 6 <eos>
	//   correct false, 8 steps
}

// A faulty step is found where it happens; the steps after it follow from it
// and are valid, but no longer those of the faultless working.
func ExampleVerdict_Steps() {
	c := task.NewChain()
	p := task.Prompt{}
	p.Tokens, _ = task.Parse(c.Vocab(), "<bos> c + 3 b * 4 a - 2 : 7")
	p.Answer, _ = task.Parse(c.Vocab(), "8")
	response, _ := task.Parse(c.Vocab(), "c 0 b 1 a 9 # 9 <eos>")
	v := c.Verify(p, response)
	fmt.Println("correct:", v.Correct)
	for _, s := range v.Steps() {
		fmt.Printf("%s: valid %v, exact %v\n", task.Text(c.Vocab(), response[s.End-1:s.End+1]), s.Valid, s.Exact)
	}
	// Output:
	// correct: false
	// c 0: valid true, exact true
	// b 1: valid false, exact false
	// a 9: valid true, exact false
}
