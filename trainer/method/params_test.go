package method_test

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"driftlab/trainer/method"
)

// bounds is a parameter struct with everything that tags can say.
type bounds struct {
	Eps      float64 `yaml:"eps" default:"3e-4" range:"[0,inf]"`
	DualClip float64 `yaml:"dual_clip" default:"3" range:"0=none|(1,inf]"`
	Share    float64 `yaml:"share" default:"0.5" range:"(0,1]"`
	Coef     float64 `yaml:"coef" range:"[0,inf)"`
	K        int     `yaml:"k" default:"4" range:"[1,2^24]"`
	Level    string  `yaml:"level" default:"token" oneof:"token sequence"`
	Order    string  `yaml:"order" oneof:"hard easy"`
	Unified  bool    `yaml:"unified" default:"true"`
	Inner    struct {
		Tau float64 `yaml:"tau" default:"1" range:"(0,inf]"`
	} `yaml:"inner"`
	Ends   [2]int `yaml:"ends" default:"1 4" range:"[1,10]"`
	Seed   uint64 `yaml:"seed" default:"1" range:"[1,inf]"`
	Shared `yaml:",inline"`
	Least  float64   `yaml:"least" range:"[0,most)"`
	Most   float64   `yaml:"most" default:"1" range:"(0,inf]"`
	Rates  []float64 `yaml:"rates" range:"(-inf,inf)"`
	Extra  *Shared   `yaml:"extra"`
	Fleet  []Shared  `yaml:"fleet"`

	state float64
}

// Shared is inlined, a section that may be missing, and an entry of a list.
type Shared struct {
	Weight float64 `yaml:"weight" default:"1" range:"[0,1]"`
}

// Validate checks a pair.
func (b *bounds) Validate() error {
	if b.Share > b.Inner.Tau {
		return fmt.Errorf("share %v: must not be above inner.tau %v", b.Share, b.Inner.Tau)
	}
	return nil
}

func TestNew(t *testing.T) {
	b := method.New[bounds]()
	want := bounds{Eps: 3e-4, DualClip: 3, Share: 0.5, K: 4, Level: "token", Unified: true,
		Ends: [2]int{1, 4}, Seed: 1, Most: 1, Shared: Shared{Weight: 1}}
	want.Inner.Tau = 1
	if !reflect.DeepEqual(*b, want) || b.state != 0 {
		t.Errorf("defaults are %+v, want %+v", *b, want)
	}
	if err := method.Check(b); err != nil {
		t.Errorf("defaults are refused: %v", err)
	}
}

func TestCheck(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		set  func(*bounds)
		want string // empty where it is accepted
	}{
		{func(b *bounds) { b.Eps = inf }, ""},
		{func(b *bounds) { b.DualClip = 0 }, ""},
		{func(b *bounds) { b.Share = 1 }, ""},
		{func(b *bounds) { b.K = 1 << 24 }, ""},
		{func(b *bounds) { b.Eps = -1 }, "eps -1: must not be negative"},
		{func(b *bounds) { b.Eps = nan }, "eps NaN: must not be negative"},
		{func(b *bounds) { b.DualClip = 1 }, "dual_clip 1: must be above 1, or 0 for none"},
		{func(b *bounds) { b.Share = 0 }, "share 0: must be in (0, 1]"},
		{func(b *bounds) { b.Coef = inf }, "coef +Inf: must be finite and at least 0"},
		{func(b *bounds) { b.K = 0 }, "k 0: must be in [1, 16777216]"},
		{func(b *bounds) { b.Level = "tokens" }, `level: unknown name "tokens": did you mean "token"? (known: token, sequence)`},
		{func(b *bounds) { b.Level = "" }, `level: unknown name "" (known: token, sequence)`},
		{func(b *bounds) { b.Order = "x" }, `order: unknown name "x" (known: hard, easy)`},
		{func(b *bounds) { b.Inner.Tau = 0 }, "inner.tau 0: must be above 0"},
		{func(b *bounds) { b.Inner.Tau = 0.25 }, "share 0.5: must not be above inner.tau 0.25"},
		{func(b *bounds) { b.Ends = [2]int{1, 11} }, "ends [1, 11]: high: must be in [1, 10]"},
		{func(b *bounds) { b.Ends = [2]int{5, 4} }, "ends [5, 4]: must be a range low <= high"},
		{func(b *bounds) { b.Least = 1 }, "least 1: must be in [0, most = 1)"},
		{func(b *bounds) { b.Least, b.Most = 3, inf }, ""},
		{func(b *bounds) { b.Rates = []float64{1, inf} }, "rates[1] +Inf: must be finite"},
		{func(b *bounds) { b.Weight = 2 }, "weight 2: must be in [0, 1]"},
		{func(b *bounds) { b.Extra = &Shared{-1} }, "extra.weight -1: must be in [0, 1]"},
		{func(b *bounds) { b.Fleet = []Shared{{1}, {3}} }, "fleet[1].weight 3: must be in [0, 1]"},
		{func(b *bounds) { b.Seed = 0 }, "seed 0: must be at least 1"},
		{func(b *bounds) { b.Eps = math.MaxFloat64 }, ""},
		{func(b *bounds) { b.Eps, b.Share = -1, 2 }, "eps -1: must not be negative\nshare 2: must be in (0, 1]"},
	} {
		b := method.New[bounds]()
		c.set(b)
		got := ""
		err := method.Check(b)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%+v: %q, want %q", *b, got, c.want)
		}
		if tags := method.CheckTags(b); (tags == nil) != (err == nil || b.Share == 0.5 && b.Inner.Tau == 0.25) {
			t.Errorf("%+v: the tags alone report %v", *b, tags)
		}
	}
}

// Parameters by value, or that are no struct, are the author's fault: nothing would be checked.
func TestCheckTakesAPointer(t *testing.T) {
	number := 1
	for _, params := range []any{Shared{Weight: 2}, &number, nil} {
		func() {
			defer func() {
				if message := fmt.Sprint(recover()); !strings.Contains(message, "pointer to the parameter struct") {
					t.Errorf("%T: %s", params, message)
				}
			}()
			_ = method.Check(params)
		}()
	}
}

// A tag that cannot be read is the author's fault and stops the program at once.
func TestBadTags(t *testing.T) {
	defer func() {
		if message := fmt.Sprint(recover()); !strings.Contains(message, "default of") {
			t.Errorf("a default that is no number: %s", message)
		}
	}()
	method.New[struct {
		Eps float64 `yaml:"eps" default:"small"`
	}]()
}
