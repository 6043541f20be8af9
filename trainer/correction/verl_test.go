package correction

import "testing"

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
			name := m.(measured).modeName()
			if err := m.Validate(); err != nil {
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
