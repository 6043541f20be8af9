package reader

import (
	"slices"
	"strings"
)

// allowed are the globals that dumps of these formats name, by their modules. They
// are taken for names all the same: nothing is imported and nothing called.
var allowed = map[string][]string{
	"collections":            {"OrderedDict"},
	"torch":                  {"device", "Size", "FloatStorage", "DoubleStorage", "HalfStorage", "BFloat16Storage", "LongStorage", "IntStorage", "ShortStorage", "CharStorage", "ByteStorage", "BoolStorage", "float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"},
	"torch._utils":           {"_rebuild_tensor_v2"},
	"torch.storage":          {"UntypedStorage", "TypedStorage"},
	"numpy":                  {"ndarray", "dtype"},
	"numpy.core.multiarray":  {"_reconstruct", "scalar"},
	"numpy._core.multiarray": {"_reconstruct", "scalar"},
	"_codecs":                {"encode"},
}

// batches are the classes of SkyRL, which has moved them between modules.
var batches = []string{"_rebuild_tensor_batch", "TrainingInputBatch", "TensorBatch"}

// known reports whether a global is one of those.
func (g global) known() bool {
	if strings.HasPrefix(g.module, "skyrl") && strings.HasSuffix(g.module, "training_batch") {
		return slices.Contains(batches, g.name)
	}
	return slices.Contains(allowed[g.module], g.name)
}

// unknownGlobal is a pickle that names something else.
type unknownGlobal struct{ global }

// Error names it.
func (u *unknownGlobal) Error() string {
	return "it wants to call " + u.module + "." + u.name + ", which no dump that is known needs"
}
