// Package model says what the transformer is: its configuration, its
// parameters as one flat slice with named views, their initialisation, and
// checkpoints in the Hugging Face folder format.
//
// The architecture is Mixtral's (arXiv:2401.04088) in small: RMSNorm before
// each block, rotary positions, multi-head or grouped-query attention, SwiGLU
// experts chosen by a top-k router, an untied output head. With fewer than two
// experts it is the dense variant, which is Llama's.
//
// What it is not: it computes no activations and no gradients. The engines do,
// each in its own numerics, on the views handed out here. It knows nothing of
// number formats beyond those of the checkpoint file.
//
// # A short tour
//
//	c := model.Default()             // the configuration of the shipped recipes
//	c.Vocab = 32                     // the task brings the vocabulary
//	if err := c.Validate(); err != nil { ... } // every fault, one per line
//	p := model.New(c)                // all zeros; norms are 1 after Init
//	p.Init(1)                        // seed 1, one random stream per tensor
//	p.Theta                          // every parameter, one slice
//	p.Layer(0).Q                     // a view of it, [Heads*HeadDim, DModel]
//	p.Tensor("model.norm.weight")    // the same by checkpoint name
//	g := model.View(c, grad)         // the same views over a gradient
//	err := model.Save("ckpt", p, model.Extras{})
//	ck, err := model.Load("ckpt")
//
// # The forward pass these parameters mean
//
// For token t at position i of its sequence, with ⊙ the elementwise product and
// matrices stored [out, in]:
//
//	x = Embed[t]                        (+ PositionEmbed[i] with learned positions)
//	for each layer:
//	    h = rmsnorm(x) ⊙ InputNorm
//	    q, k, v = Q h, K h, V h         q and k rotated by i (rotary positions)
//	    x = x + O · attention(q, k, v)  causal, scale 1/√HeadDim
//	    h = rmsnorm(x) ⊙ PostNorm
//	    s = Router h                    logits of the experts, no bias
//	    x = x + Σ_e gate_e(s) · W2_e (silu(W1_e h) ⊙ W3_e h)
//	logits = Head (rmsnorm(x) ⊙ FinalNorm)
//
// rmsnorm(x) = x / √(mean(x²) + NormEps). Rotation follows Hugging Face's
// rotate_half: entry j of a head is paired with entry j+HeadDim/2, and the pair
// turns by i·RopeTheta^(-2j/HeadDim), for 0 ≤ j < HeadDim/2.
package model
