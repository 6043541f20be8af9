package correction

import (
	"testing"

	"driftlab/trainer/method"
)

// FuzzParseRejection: whatever the two strings hold, the result is an error or
// masks that are valid and all different.
func FuzzParseRejection(f *testing.F) {
	for _, seed := range [][2]string{
		{"token_k1", "0.5_2.0"}, {"token_k2,seq_sum_k1", "0.1,0.5_2"}, {" seq_max_k3 , ", "1e-3"}, {"token_k1,token_k1", "2"},
		{"seq_mean_k1", "0"}, {"", ""}, {"token_k1", "nan"}, {"token_k2", "inf"}, {"token_k1", "_"}, {"_", "1"}, {"token_k1", "1e400"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, modes, thresholds string) {
		masks, err := ParseRejection(modes, thresholds)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, m := range masks {
			name := m.(measured).measures().name()
			if err := method.Check(m); err != nil {
				t.Errorf("%q %q: %s: %v", modes, thresholds, name, err)
			}
			if seen[name] {
				t.Errorf("%q: %s twice", modes, name)
			}
			seen[name] = true
		}
		if len(masks) == 0 {
			t.Errorf("%q %q: no masks and no error", modes, thresholds)
		}
	})
}

func FuzzParseBand(f *testing.F) {
	for _, seed := range []string{"2.0", "0.5_5.0", " 3 ", "", "_", "1_", "2_1", "-1", "NaN", "1e-1_1e1", "0x1p-2_1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		low, high, err := ParseBand(spec)
		if err == nil && !(low >= 0 && high > 0 && low <= high) {
			t.Errorf("%q: %v to %v", spec, low, high)
		}
	})
}

// verl reads thresholds with Python's float: no hexadecimal, and an underscore
// means a band, which is one for k1 and for rollout_is only. Go's parser would
// read 0.01_2 as 0.012.
func TestThresholdsAreDecimal(t *testing.T) {
	for _, spec := range []string{"0x1p-2_1", "0.5_0x2", "0x2", "1_2_3", "0.5_2_0", "1_000_2", "0X1P1", "0x_1p1", "_2", "2_", "1p2"} {
		if low, high, err := ParseBand(spec); err == nil {
			t.Errorf("threshold %q is read as %v to %v", spec, low, high)
		}
		if _, err := ParseRejection("token_k1", spec); err == nil {
			t.Errorf("token_k1 takes threshold %q", spec)
		}
	}
	for _, name := range rejectionModes() {
		for _, spec := range []string{"0.5_2.0", "0.01_2", "1_0", "5_6"} {
			_, err := ParseRejection(name, spec)
			if k1 := name[len(name)-1] == '1'; k1 != (err == nil) && spec != "1_0" {
				t.Errorf("%s with %q: %v", name, spec, err)
			}
		}
		if _, err := ParseRejection(name, "0x1p1"); err == nil {
			t.Errorf("%s takes a hexadecimal threshold", name)
		}
	}
	for _, spec := range []string{"2.0", " 0.5_5.0 ", "0.5 _ 5.0", "1e-1_1e1", "inf"} {
		if _, _, err := ParseBand(spec); err != nil {
			t.Errorf("%q: %v", spec, err)
		}
	}
}
