// Package gguf writes a model as a GGUF file, version 3, which llama.cpp loads: the
// architecture "llama", with experts if the model has any, and all matrices but the
// routers' in one type. Norms and routers are F32, as llama.cpp keeps them.
//
// The file has no tokenizer ("no_vocab"): programs give it token ids. Layout of the file:
// docs/gguf.md of github.com/ggml-org/ggml; names of tensors and of metadata:
// gguf-py/gguf/constants.py of github.com/ggml-org/llama.cpp.
//
// What it is not: it does not read GGUF, and makes no K-quants.
package gguf
