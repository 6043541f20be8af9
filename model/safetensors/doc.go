// Package safetensors reads and writes Hugging Face's safetensors files: an
// 8-byte little-endian header length, a JSON header that names every tensor
// with its number format, shape and byte range, and the raw values.
//
// The reader is strict, because files come from elsewhere: every byte of the
// data must belong to exactly one tensor, every range must match its shape,
// nothing may be named twice. A truncated or damaged file gives an error and
// neither a panic nor an allocation larger than the file.
//
// What it is not: it does not map files into memory, split them into shards, or
// know what the tensors mean. Writing rounds nothing: values go out as float32.
//
// # A short tour
//
//	f, err := safetensors.Parse(bytes)
//	t := f.Tensor("lm_head.weight")
//	err = t.Float32s(dst)              // from F32, F16 or BF16, exactly
//
//	f, err = safetensors.Open(file, size) // the same, one tensor in memory at a time
//
//	err = safetensors.Write(w, []safetensors.Tensor{
//		safetensors.Float32("lm_head.weight", []int{4, 2}, values),
//	}, map[string]string{"format": "pt"})
package safetensors
