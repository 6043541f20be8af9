package safetensors_test

import (
	"bytes"
	"fmt"

	"driftlab/model/safetensors"
)

func Example() {
	var file bytes.Buffer
	err := safetensors.Write(&file, []safetensors.Tensor{
		safetensors.Float32("norm.weight", []int{2}, []float32{1, 0.5}),
	}, map[string]string{"format": "pt"})
	if err != nil {
		fmt.Println(err)
		return
	}

	f, err := safetensors.Parse(file.Bytes())
	if err != nil {
		fmt.Println(err)
		return
	}
	t := f.Tensor("norm.weight")
	values := make([]float32, t.Len())
	if err := t.Float32s(values); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(t.DType, t.Shape, values, f.Metadata["format"])

	_, err = safetensors.Parse(file.Bytes()[:file.Len()-1])
	fmt.Println(err)
	// Output:
	// F32 [2] [1 0.5] pt
	// tensor "norm.weight" ends at byte 8 of 7: the file is truncated, copy it again
}
