package model_test

import (
	"fmt"
	"os"
	"path/filepath"

	"driftlab/model"
)

func Example() {
	c := model.Default()
	c.Vocab = 32
	p := model.New(c)
	p.Init(1)
	fmt.Println(len(p.Theta), "parameters")
	for _, b := range c.Blocks() {
		fmt.Printf("%-18s %6d at %6d\n", b.Name, b.Len, b.Offset)
	}

	// The same views over another slice: a gradient.
	gradient := model.View(c, make([]float32, len(p.Theta)))
	gradient.Layer(1).W2[3][0] = 1
	fmt.Println(gradient.Tensor("model.layers.1.block_sparse_moe.experts.3.w2.weight").Data[0])
	// Output:
	// 109216 parameters
	// embed                1024 at      0
	// layers.0.attention   4128 at   1024
	// layers.0.ffn        49440 at   5152
	// layers.1.attention   4128 at  54592
	// layers.1.ffn        49440 at  58720
	// head                 1056 at 108160
	// 1
}

func ExampleSave() {
	parent, err := os.MkdirTemp("", "driftlab")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(parent)
	dir := filepath.Join(parent, "tiny")

	p := model.New(model.Config{Layers: 1, Experts: 2, Vocab: 4})
	p.Init(1)
	if err := model.Save(dir, p, model.Extras{Vocab: []string{"<bos>", "0", "1", "<eos>"}}); err != nil {
		fmt.Println(err)
		return
	}
	ck, err := model.Load(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ck.Params.Config.Experts, "experts,", ck.Vocab, ck.Params.Theta[0] == p.Theta[0])
	// Output: 2 experts, [<bos> 0 1 <eos>] true
}

// Validate returns every fault, one per line, under the names of recipes.
func ExampleConfig_Validate() {
	c := model.Config{Heads: 5, Experts: 4, TopK: 6, Vocab: 32}.WithDefaults()
	fmt.Println(c.Validate())
	// Output:
	// model.heads: 5 does not divide d_model 32
	// model.top_k: 6 is outside [1, experts 4]
}
