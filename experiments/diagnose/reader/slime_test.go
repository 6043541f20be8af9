package reader_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"driftlab/experiments/diagnose/reader"
)

// legacy is what torch wrote before 1.6: pickles one after the other, then the storages.
func legacy(root any, keys []any, storages ...[]byte) []byte {
	b := []byte("\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.")
	for _, v := range []any{1001, pairs{"protocol_version", 1001, "little_endian", raw("\x88")}, root, keys} {
		b = append(b, pickled(v)...)
	}
	for _, s := range storages {
		b = append(binary.LittleEndian.AppendUint64(b, uint64(len(s)/4)), s...)
	}
	return b
}

func legacySample() any {
	return pairs{"tokens", []any{7, 8, 9}, "response_length", 2, "rollout_log_probs", tensor("FloatStorage", "b", 2), "log_probs", tensor("FloatStorage", "a", 2), "sample_index", 4}
}

// The same samples in the old format: the storages stand in the order of their list.
func TestLegacyTorch(t *testing.T) {
	root := pairs{"rollout_id", 3, "samples", []any{legacySample()}}
	file := legacy(root, []any{"a", "b"}, float32s(-1, -2), float32s(-3, -4))
	rows, about, err := readBytes(file)
	if err != nil || about.Format != "slime" || len(rows) != 1 || about.Damaged > 0 {
		t.Fatalf("%v %+v", err, about)
	}
	if r := rows[0]; !same(r.Old, []float64{-1, -2}) || !same(r.Roll, []float64{-3, -4}) || !slices.Equal(r.Token, []int32{8, 9}) {
		t.Errorf("%+v", r)
	}
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"cut":        {file[:len(file)-3], "a storage of 2 entries"},
		"no count":   {file[:len(file)-18], "a storage of 2 entries"},
		"counts":     {legacy(root, []any{"a", "b", "c"}, float32s(-1, -2), float32s(-3, -4), nil), "a storage of 0 entries"},
		"lies":       {append(legacy(root, []any{"a"}), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f), "a storage of 9223372036854775807 entries"},
		"hostile":    {legacy(pairs{"samples", call{"os system", "(" + instructions("true") + "t"}}, nil), "os.system"},
		"only magic": {file[:20], "the pickle is cut"},
	} {
		_, _, err := readBytes(c.file)
		if refused := (*reader.Refused)(nil); !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// opened is a file in memory.
type opened struct{ *bytes.Reader }

// Close implements io.Closer.
func (opened) Close() error { return nil }

// slime's train_data has no versions: they come from rollout_data next to it, sample by sample.
func TestSlimeJoinsRolloutData(t *testing.T) {
	sample := func(index int, versions ...any) any {
		return pairs{"tokens", []any{7, 8, 9}, "response_length", 2, "rollout_log_probs", []any{-0.5, -0.25}, "index", index, "weight_versions", versions}
	}
	without := pairs{"tokens", []any{7, 8, 9}, "response_length", 2, "log_probs", tensor("FloatStorage", "0", 2), "sample_index", 5}
	train := torchFile(t, pairs{"rollout_id", 3, "samples", []any{without, legacyless(4), legacyless(6)}}, map[string][]byte{"0": float32s(-1, -2)})
	rollout := torchFile(t, pairs{"rollout_id", 3, "samples", []any{sample(4, "11", "12"), sample(5, "9")}}, nil)
	var asked string
	var rows []reader.Row
	in := reader.Input{Name: "3.pt", At: bytes.NewReader(train), Size: int64(len(train)), Open: func(path string) (reader.ReaderAtCloser, int64, error) {
		asked = path
		return opened{bytes.NewReader(rollout)}, int64(len(rollout)), nil
	}}
	about, err := reader.Read(in, "", func(r *reader.Row) error { rows = append(rows, *r); return nil })
	if err != nil || len(rows) != 3 || asked != "../rollout_data/3.pt" {
		t.Fatalf("%v, %d rows, asked for %q", err, len(rows), asked)
	}
	if r := rows[0]; r.Head != 9 || r.Tail != 9 || !same(r.Roll, []float64{-0.5, -0.25}) {
		t.Errorf("sample 5: %+v", r)
	}
	if r := rows[1]; r.Head != 11 || r.Tail != 12 || !same(r.Roll, []float64{-1, -2}) {
		t.Errorf("sample 4 keeps its own log-probs: %+v", r)
	}
	if r := rows[2]; r.Tail != reader.Unknown {
		t.Errorf("sample 6 is in no rollout_data: %+v", r)
	}
	if !slices.ContainsFunc(about.Notes, func(n string) bool { return strings.Contains(n, "versions of 2 samples are from rollout_data/3.pt") }) {
		t.Errorf("%v", about.Notes)
	}
	in.Open = func(string) (reader.ReaderAtCloser, int64, error) { return nil, 0, errors.New("none") }
	rows = nil
	if about, err = reader.Read(in, "", func(r *reader.Row) error { rows = append(rows, *r); return nil }); err != nil || rows[1].Tail != reader.Unknown || len(about.Notes) > 0 {
		t.Errorf("%v %+v", err, about)
	}
}

// legacyless is a sample of train_data.
func legacyless(index int) any {
	return pairs{"tokens", []any{7, 8, 9}, "response_length", 2, "rollout_log_probs", []any{-1.0, -2.0}, "log_probs", []any{-1.0, -2.0}, "sample_index", index}
}

// What sampling kept is a flat list with offsets, the likeliest tokens are as many for each token; -1 and -∞ pad them.
func TestTorchHeads(t *testing.T) {
	storages := map[string][]byte{"flat": int64s(8, 5, 9), "offsets": int64s(0, 2, 3), "ids": int64s(8, 5, 9, -1), "logp": float32s(-0.5, -1, -0.25, float32(math.Inf(-1)))}
	flat, offsets := tensor("LongStorage", "flat", 3), tensor("LongStorage", "offsets", 3)
	ids, logp := tensor("LongStorage", "ids", 2, 2), tensor("FloatStorage", "logp", 2, 2)
	for name, c := range map[string]struct {
		more     pairs
		ends     []int
		id, roll []float64
		note     string
	}{
		"kept":          {pairs{"rollout_sampling_mask_ids", flat, "rollout_sampling_mask_offsets", offsets}, []int{2, 3}, []float64{8, 5, 9}, nil, ""},
		"likeliest":     {pairs{"rollout_topk_token_ids", ids, "rollout_topk_log_probs", logp}, []int{2, 4}, []float64{8, 5, 9, -1}, []float64{-0.5, -1, -0.25, math.Inf(-1)}, ""},
		"no offsets":    {pairs{"rollout_sampling_mask_ids", flat}, nil, nil, nil, "rollout_sampling_mask_ids is not read in all rows"},
		"other lengths": {pairs{"rollout_sampling_mask_ids", flat, "rollout_sampling_mask_offsets", offsets, "rollout_topk_log_probs", logp}, nil, nil, nil, "rollout_topk_log_probs is not read in all rows"},
		"no numbers":    {pairs{"rollout_topk_token_ids", []any{"x"}}, nil, nil, nil, "rollout_topk_token_ids is not read in all rows"},
	} {
		rows, about, err := readBytes(torchFile(t, pairs{"rollout_id", 3, "samples", []any{append(legacyless(4).(pairs), c.more...)}}, storages))
		if err != nil || len(rows) != 1 {
			t.Fatalf("%s: %v, %d rows", name, err, len(rows))
		}
		if r := rows[0]; !slices.Equal(r.HeadEnds, c.ends) || !same(r.HeadID, c.id) || !same(r.HeadRoll, c.roll) {
			t.Errorf("%s: %v %v %v", name, r.HeadEnds, r.HeadID, r.HeadRoll)
		}
		if notes := strings.Join(about.Notes, "; "); !strings.Contains(notes, c.note) || c.note == "" && notes != "" {
			t.Errorf("%s: %s", name, notes)
		}
	}
}
