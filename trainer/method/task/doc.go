// Package task is what the policy is trained on: verifiable tasks with a
// parameter of difficulty. A Task makes prompts, checks responses exactly, and writes
// noisy demonstrations for the supervised warm start.
//
// What it is not: it turns no verdict into a reward (package reward does), it
// samples nothing from a model, and it reads no clock and no global random
// source. Everything follows from the *rand.Rand that comes in.
//
// # A short tour
//
//	t := task.NewChain()                  // or Table.Lookup("chain"), then New()
//	p := task.Draw(t, rng)                // from the training stream
//	demo := t.Demonstration(nil, p, rng)  // noisy working, answer, <eos>
//	v := t.Verify(p, response)            // exact
//	if v.Correct { ... }
//	for _, s := range v.Steps() { ... }   // working step by step
//
// # One vocabulary
//
// All tasks share one vocabulary of 32 tokens with the same ids; the filler and
// the lookup task add 32 of their own after them, the chapters task as many words
// as it is asked to. So a checkpoint of one task can be given another one.
//
// # Tools
//
// A Tool is a task whose responses call an environment: what it replies stands
// in the response, conditions what follows, and is not sampled. Reply says
// what the environment writes, Generated who wrote what. The lookup task hides
// operands that only its tool knows, after symbols that the warm start has
// hardly seen.
//
// # Text that a two-layer rotary transformer can learn
//
// Rotary positions are relative: a head can find "the token just before me",
// and can find a token by its content, but not "the fourth token". So every
// operand in a prompt is labelled by a marker letter, and the working repeats
// the marker before it uses the operand:
//
//	prompt    <bos> c + 3 b * 4 a - 2 : 7
//	response  c 0 b 0 a 8 # 8 <eos>
//
// In layer one the prompt's operator and operand fetch their marker, which is
// one and two tokens back, and the response's marker fetches the value just
// before it. In layer two the response's marker asks for the operator and
// operand that carry the same marker, and the experts compute the next value.
// Markers count down, so the step after each value depends on one look back
// and the mark "#" always comes after step a: nothing has to be counted.
// Each task says in its own comment how its text keeps to this rule.
//
// Fixed offsets need rotary frequencies that turn within the text: heads of
// width 8 have four, and base 10,000 spends two of them on distances far
// beyond a hundred tokens. On a prototype of the default model (2 layers,
// width 32, 8 experts of which 2 are active; 64 demonstrations a step, Adam at
// 3e-3) 1,500 steps gave these pass rates, greedy and sampled:
//
//	chain     base 100: 1.00, 0.55 (three seeds alike)   base 10,000: 0.63, 0.33
//	addition  base 100: 1.00, 0.57
//	filler    base 100: 1.00, 0.56
//	search    base 100: 0.73, 0.31; after 2,500 steps 0.98, 0.46
//	lookup    base 100, after 2,500 steps, a quarter of them notes: 0.99, 0.58 (one seed)
//
// # Training and held-out prompts
//
// Draw draws from the training stream, DrawHeldOut from the evaluation stream.
// The streams are split by a hash of the prompt's tokens, not only by its
// number, so no held-out text is ever trained on, however few prompts a
// difficulty has. Prompt.ID is even in training and odd in evaluation, and
// Reproduce makes the same prompt again from it.
//
// # Noise
//
// A demonstration replaces each value that it writes by a random digit with
// probability Noise and goes on from there. The warm start learns that noise
// when it is sampled and votes it away when it is greedy, which leaves
// reinforcement learning a gap that it can close.
package task
