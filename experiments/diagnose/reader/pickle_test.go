package reader_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"driftlab/experiments/diagnose/reader"
	"driftlab/precision/must"
)

// What the pickler below writes beside numbers, texts and lists.
type (
	pairs []any                     // a dictionary: key, value, key, value
	call  struct{ by, args string } // by is "module name", args are instructions
	raw   string                    // instructions
)

// pickled is a value as protocol 4 has it.
func pickled(v any) string { return "\x80\x04" + instructions(v) + "." }

func instructions(v any) string {
	switch v := v.(type) {
	case nil:
		return "N"
	case raw:
		return string(v)
	case int:
		return "J" + string(binary.LittleEndian.AppendUint32(nil, uint32(v)))
	case float64:
		return "G" + string(binary.BigEndian.AppendUint64(nil, math.Float64bits(v)))
	case string:
		return "X" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(v)))) + v
	case []byte:
		return "B" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(v)))) + string(v)
	case call:
		module, name, _ := strings.Cut(v.by, " ")
		return "c" + module + "\n" + name + "\n" + v.args + "R"
	case []any:
		return "](" + joined(v) + "e"
	case pairs:
		return "}(" + joined(v) + "u"
	}
	panic(fmt.Sprintf("%T", v))
}

func joined(items []any) string {
	var b strings.Builder
	for _, v := range items {
		b.WriteString(instructions(v))
	}
	return b.String()
}

// tensor is one of torch: kind, storage, size.
func tensor(kind, key string, size ...int) any {
	stride, strides, sizes := 1, "", ""
	for i := len(size) - 1; i >= 0; i-- {
		strides, sizes, stride = instructions(stride)+strides, instructions(size[i])+sizes, stride*size[i]
	}
	id := "(" + instructions("storage") + "ctorch\n" + kind + "\n" + instructions(key) + instructions("cpu") + instructions(stride) + "tQ"
	return call{"torch._utils _rebuild_tensor_v2", "(" + id + instructions(0) + "(" + sizes + "t(" + strides + "t\x89)t"}
}

// torchFile is what torch.save writes.
func torchFile(t testing.TB, root any, storages map[string][]byte) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, content := range map[string][]byte{"x/data.pkl": []byte(pickled(root))} {
		w := must.Get(z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store}))(t)
		w.Write(content)
	}
	for name, content := range storages {
		w := must.Get(z.CreateHeader(&zip.FileHeader{Name: "x/data/" + name, Method: zip.Store}))(t)
		w.Write(content)
	}
	must.Do(t, z.Close())
	return b.Bytes()
}

func float32s(x ...float32) []byte {
	var b []byte
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func int64s(x ...int) []byte {
	var b []byte
	for _, v := range x {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	return b
}

func readBytes(b []byte) (rows []reader.Row, about *reader.File, err error) {
	return readText(string(b), "")
}

// miles: three log-probs, no tokens.
func TestMiles(t *testing.T) {
	sample := pairs{"index", 0, "response_length", 3, "train_log_probs", tensor("FloatStorage", "0", 3), "old_log_probs", tensor("FloatStorage", "1", 3),
		"rollout_log_probs", tensor("FloatStorage", "2", 3), "advantages", tensor("FloatStorage", "3", 3), "local_loss_mask", tensor("FloatStorage", "4", 3)}
	file := torchFile(t, pairs{"rank", 0, "call", 0, "samples", []any{sample}}, map[string][]byte{
		"0": float32s(-1, -2, -3), "1": float32s(-4, -5, -6), "2": float32s(-7, -8, -9), "3": float32s(1, 1, 1), "4": float32s(1, 0, 1)})
	rows, about, err := readBytes(file)
	if err != nil || about.Format != "miles" || len(rows) != 1 || about.Damaged > 0 {
		t.Fatalf("%v %+v", err, about)
	}
	r := rows[0]
	if !same(r.New, []float64{-1, -2, -3}) || !same(r.Old, []float64{-4, -5, -6}) || !same(r.Roll, []float64{-7, -8, -9}) || r.Trained() != 2 || r.Token != nil {
		t.Errorf("%+v", r)
	}
}

// rankData is miles' train_data of a rank: columns with an entry for each sample.
func rankData(parallel int) any {
	column := func(a, b any) []any { return []any{a, b} }
	return pairs{"rollout_id", 3, "rank", 0, "cp_rank", 0, "cp_size", parallel, "qkv_format", "thd", "rollout_data", pairs{
		"tokens", column(tensor("LongStorage", "0", 3), tensor("LongStorage", "1", 2)), "response_lengths", []any{2, 1}, "total_lengths", []any{3, 2},
		"loss_masks", column(tensor("IntStorage", "2", 2), tensor("IntStorage", "3", 1)), "rollout_log_probs", column(tensor("FloatStorage", "4", 2), tensor("FloatStorage", "5", 1)),
		"log_probs", column(tensor("FloatStorage", "6", 2), tensor("FloatStorage", "7", 1)), "sample_indices", []any{8, 9}, "raw_reward", []any{1.0, 0.0, 1.0},
		"weight_versions", column([]any{"2", "3"}, []any{})}}
}

// miles' columns of a rank are samples; those of a rank of context parallelism are refused.
func TestMilesColumns(t *testing.T) {
	storages := map[string][]byte{"0": int64s(5, 7, 8), "1": int64s(5, 9), "2": {0, 0, 0, 0, 1, 0, 0, 0}, "3": {1, 0, 0, 0},
		"4": float32s(-1, -2), "5": float32s(-3), "6": float32s(-1.5, -2.5), "7": float32s(-3.5)}
	rows, about, err := readBytes(torchFile(t, rankData(1), storages))
	if err != nil || about.Format != "miles" || len(rows) != 2 || about.Damaged > 0 || about.Step != 3 {
		t.Fatalf("%v %+v", err, about)
	}
	if r := rows[0]; !same(r.Roll, []float64{-1, -2}) || !same(r.Old, []float64{-1.5, -2.5}) || r.Trained() != 1 || r.Token[0] != 7 || r.Index != 8 || r.Head != 2 || r.Tail != 3 {
		t.Errorf("%+v", r)
	}
	if r := rows[1]; !same(r.Roll, []float64{-3}) || r.Prompt[0] != 5 || r.Index != 9 {
		t.Errorf("%+v", r)
	}
	_, _, err = readBytes(torchFile(t, rankData(2), storages))
	if refused := (*reader.Refused)(nil); !errors.As(err, &refused) || !strings.Contains(err.Error(), "one of 2 ranks of context parallelism") {
		t.Errorf("%v", err)
	}
}

// skyrlBatch is one of two responses, padded on the left to three tokens of five.
func skyrlBatch(old any) string {
	numpy := func(kind string, data []byte, shape ...int) pairs {
		return pairs{"format", "numpy", "data", data, "shape", raw("(" + instructions(shape[0]) + instructions(shape[1]) + "t"), "dtype", kind}
	}
	batch := pairs{
		"sequences", numpy("int64", int64s(0, 11, 9, 12, 13, 21, 22, 31, 32, 33), 2, 5), "attention_mask", numpy("int64", int64s(0, 1, 0, 1, 1, 1, 1, 1, 1, 1), 2, 5),
		"response_mask", numpy("int64", int64s(0, 1, 1, 1, 1, 1), 2, 3), "loss_mask", numpy("float32", float32s(0, 1, 1, 1, 0, 1), 2, 3),
		"rollout_logprobs", numpy("float32", float32s(-9, -1, -2, -3, -4, -5), 2, 3), "action_log_probs", old, "base_action_log_probs", nil}
	state := pairs{"batch_dict", batch, "batch_size", 2, "device", nil, "metadata", pairs{"policy_prompt_boundaries", []any{raw("K\x00K\x01\x86"), raw("K\x01K\x02\x86")}}}
	return pickled(call{"skyrl.train.training_batch _rebuild_tensor_batch", "cskyrl.train.training_batch\nTrainingInputBatch\n" + instructions(state) + "\x86"})
}

// SkyRL: token j of a response is column S-R+j; a bfloat16 tensor comes as a torch file.
func TestSkyRL(t *testing.T) {
	var bf16 []byte
	for _, x := range []float32{-9, -1.5, -2.5, -3.5, -4.5, -5.5} {
		bf16 = binary.LittleEndian.AppendUint16(bf16, uint16(math.Float32bits(x)>>16))
	}
	old := pairs{"format", "torch", "data", torchFile(t, tensor("BFloat16Storage", "0", 2, 3), map[string][]byte{"0": bf16})}
	rows, about, err := readBytes([]byte(skyrlBatch(old)))
	if err != nil || about.Format != "skyrl" || len(rows) != 2 {
		t.Fatalf("%v %+v", err, about)
	}
	a, b := rows[0], rows[1]
	if fmt.Sprint(a.Prompt, a.Token, a.Mask, a.Roll, a.Old, a.Group) != "[11 9] [12 13] [true true] [-1 -2] [-1.5 -2.5] 0" {
		t.Errorf("%+v", a)
	}
	if fmt.Sprint(b.Prompt, b.Token, b.Mask, b.Roll, b.Old, b.Group) != "[21 22] [31 32 33] [true false true] [-3 -4 -5] [-3.5 -4.5 -5.5] 1" {
		t.Errorf("%+v", b)
	}
	// The reference model's column is never the learner's.
	rows, about, err = readBytes([]byte(skyrlBatch(nil)))
	if err != nil || len(rows) != 2 || rows[0].Old != nil || !strings.Contains(fmt.Sprint(about.Missing), "logp_old") {
		t.Errorf("%v %+v", err, about)
	}
}

// Whatever a pickle wants called, it is refused by name; nothing is ever executed.
func TestHostilePickles(t *testing.T) {
	many := func(n int, s string) raw { return raw(strings.Repeat(s, n)) }
	for name, c := range map[string]struct {
		file []byte
		says string
	}{
		"system":        {[]byte(pickled(call{"os system", "(" + instructions("true") + "t"})), "os.system"},
		"eval":          {[]byte(pickled(call{"builtins eval", "(" + instructions("1") + "t"})), "builtins.eval"},
		"nested":        {[]byte(pickled(call{"torch.storage _load_from_bytes", "(" + instructions([]byte("x")) + "t"})), "torch.storage._load_from_bytes"},
		"stack global":  {[]byte("\x80\x04\x8c\x05posix\x8c\x06system\x93."), "posix.system"},
		"in torch":      {torchFile(t, call{"os system", ")"}, nil), "os.system"},
		"instance":      {[]byte("\x80\x02(ios\nsystem\n."), "instruction 0x69"},
		"object":        {[]byte("\x80\x02(Kxo."), "instruction 0x6f"},
		"persistent":    {[]byte("\x80\x02Pkey\n."), "instruction 0x50"},
		"extension":     {[]byte("\x80\x02\x82\x01."), "instruction 0x82"},
		"no value":      {[]byte("\x80\x04."), "the stack is empty"},
		"only a mark":   {[]byte("\x80\x04(."), "a mark"},
		"cut":           {[]byte("\x80\x04]("), "cut"},
		"long text":     {[]byte("\x80\x04X\xff\xff\xff\x7fab."), "bytes more"},
		"long bytes":    {[]byte("\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7fab."), "has 3 more"},
		"negative":      {[]byte("\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\xffab."), "bytes in a file"},
		"long number":   {[]byte("\x80\x04\x8b\xff\xff\xff\x00" + "."), "a whole number of"},
		"no memo":       {[]byte("\x80\x04h\x07."), "nothing is remembered as 7"},
		"fill a number": {[]byte("\x80\x04K\x01(K\x02e."), "holds none"},
		"not a batch":   {[]byte(pickled(pairs{"a", 1})), "no tensor batch"},
		"deep":          {[]byte(pickled(many(1<<16, "]") + many(1<<16-1, "a"))), "no tensor batch"},
		"call a list":   {[]byte("\x80\x04])R."), "no global"},
		"huge tensor":   {[]byte(skyrlBatch(pairs{"format", "numpy", "data", []byte("12345678"), "shape", raw("J\xff\xff\xff\x7fJ\xff\xff\xff\x7f\x86"), "dtype", "float32"})), "in 8 bytes"},
		"no dtype":      {[]byte(skyrlBatch(pairs{"format", "numpy", "data", []byte("1234"), "shape", raw("K\x01K\x01\x86"), "dtype", "object"})), "not known"},
		"other shape":   {[]byte(skyrlBatch(pairs{"format", "numpy", "data", []byte("1234"), "shape", raw("K\x01K\x01\x86"), "dtype", "float32"})), "does not fit"},
		"no samples":    {torchFile(t, pairs{"a", 1}, nil), "without samples"},
	} {
		rows, about, err := readBytes(c.file)
		var refused *reader.Refused
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.says) || len(rows) > 0 || about == nil {
			t.Errorf("%s: %d rows, %v, want a refusal with %q", name, len(rows), err, c.says)
		}
	}
}

// A sample that is broken is damage, and the others count: tensors without a storage,
// beyond it, and one storage that many samples blow up to more than the file.
func TestHostileTensors(t *testing.T) {
	sample := func(roll any) pairs {
		return pairs{"tokens", []any{1, 2}, "response_length", 2, "rollout_log_probs", roll}
	}
	good := tensor("FloatStorage", "0", 2)
	for name, c := range map[string]struct {
		bad  any
		says string
	}{
		"no storage": {tensor("FloatStorage", "9", 2), "no storage"},
		"beyond":     {tensor("FloatStorage", "0", 500), "in 8 bytes"},
		"no kind":    {tensor("device", "0", 2), "not known"},
		"text":       {"abc", "string where a column belongs"},
		"mixed":      {[]any{1, "a"}, "string among numbers"},
		"short":      {[]any{-1.0}, "1 entries for 2 tokens"},
	} {
		rows, about, err := readBytes(torchFile(t, pairs{"samples", []any{sample(good), sample(c.bad), sample(good)}}, map[string][]byte{"0": float32s(-1, -2)}))
		if err != nil || len(rows) != 2 || about.Damaged != 1 || !strings.Contains(about.Damage[0].Reason, c.says) || about.Damage[0].Line != 2 {
			t.Errorf("%s: %v, %d rows, %+v", name, err, len(rows), about)
		}
	}
	big := make([]byte, 1<<16)
	one := pairs{"tokens", tensor("ByteStorage", "0", 1<<16), "response_length", 0}
	samples := make([]any, 1000)
	for i := range samples {
		samples[i] = raw("h\x00")
	}
	samples[0] = raw(instructions(one) + "q\x00")
	rows, about, err := readBytes(torchFile(t, pairs{"samples", samples}, map[string][]byte{"0": big}))
	if err != nil || len(rows) != 1 || about.Damaged != 999 {
		t.Errorf("%v, %d rows, %d faults", err, len(rows), about.Damaged)
	}
}

// A pickle may be cut anywhere.
func TestCutPickles(t *testing.T) {
	whole := skyrlBatch(nil)
	for n := 2; n < len(whole); n++ {
		if rows, _, err := readBytes([]byte(whole[:n])); err == nil && len(rows) > 0 {
			t.Errorf("%d of %d bytes: %d rows", n, len(whole), len(rows))
		}
	}
}
