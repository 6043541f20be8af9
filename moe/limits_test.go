package moe

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// panics returns what a call panics with, empty if it does not.
func panics(call func()) (said string) {
	defer func() {
		if p := recover(); p != nil {
			said, _ = p.(string)
			if said == "" {
				said = "an error of the runtime"
			}
		}
	}()
	call()
	return ""
}

// Every shape is checked by itself, before anything is written: the message is
// the package's, not the runtime's. The largest and smallest that fit do.
func TestEachShapeIsChecked(t *testing.T) {
	f := func(n int) []float32 { return make([]float32, n) }
	u := func(n int) []uint8 { return make([]uint8, n) }
	two := Gate{Experts: 2, TopK: 1}
	for name, tc := range map[string]struct {
		ok   bool
		call func()
	}{
		"gate fits":           {true, func() { two.Select(u(3), f(3), f(6), nil, 3) }},
		"gate of one":         {true, func() { (Gate{Experts: 1, TopK: 1}).Select(u(1), f(1), f(1), nil, 1) }},
		"gate of most":        {true, func() { (Gate{Experts: MaxExperts, TopK: 1}).Select(u(1), f(1), f(MaxExperts), nil, 1) }},
		"gate of more":        {false, func() { (Gate{Experts: MaxExperts + 1, TopK: 1}).Select(u(1), f(1), f(MaxExperts+1), nil, 1) }},
		"gate of none":        {false, func() { (Gate{}).Select(nil, nil, nil, nil, 1) }},
		"gate of top 0":       {false, func() { (Gate{Experts: 2}).Select(nil, nil, f(2), nil, 1) }},
		"gate's ids":          {false, func() { two.Select(u(4), f(3), f(6), nil, 3) }},
		"gate's weights":      {false, func() { two.Select(u(3), f(4), f(6), nil, 3) }},
		"gate's logits":       {false, func() { two.Select(u(3), f(3), f(7), nil, 3) }},
		"gradient fits":       {true, func() { two.Grad(f(6), f(3), f(3), f(6), u(3), 3) }},
		"gradient's dlogits":  {false, func() { two.Grad(f(7), f(3), f(3), f(6), u(3), 3) }},
		"gradient's dweights": {false, func() { two.Grad(f(6), f(4), f(3), f(6), u(3), 3) }},
		"plan fits":           {true, func() { new(Dispatch).Plan(u(2), 2, 1, MaxExperts) }},
		"plan of more":        {false, func() { new(Dispatch).Plan(u(2), 2, 1, MaxExperts+1) }},
		"balance fits":        {true, func() { new(Balance).AddGrad(f(3), 1, f(3), u(3), 3, 1, 1) }},
		"balance's logits":    {false, func() { new(Balance).AddGrad(f(7), 1, f(7), u(3), 3, 1, 2) }},
		"balance's ids":       {false, func() { new(Balance).AddGrad(f(6), 1, f(6), u(4), 3, 1, 2) }},
		"balance of top 0":    {false, func() { new(Balance).AddGrad(f(6), 1, f(6), nil, 3, 0, 2) }},
		"balance of none":     {false, func() { new(Balance).AddGrad(nil, 1, nil, u(3), 3, 1, 0) }},
	} {
		if said := panics(tc.call); (said == "") != tc.ok || !tc.ok && !strings.HasPrefix(said, "moe: ") {
			t.Errorf("%s: %q", name, said)
		}
	}
}

// The id after the last expert is refused, at the row that holds it.
func TestForeignExperts(t *testing.T) {
	ids := []uint8{0, 1, 0, 2, 0, 1} // rows of two choices; expert 2 is in row 1
	g := Gate{Experts: 2, TopK: 2}
	for name, call := range map[string]func(){
		"plan":   func() { new(Dispatch).Plan(ids, 3, 2, 2) },
		"replay": func() { g.Replay(make([]float32, 6), make([]float32, 6), ids, 3) },
	} {
		if said := panics(call); !strings.Contains(said, "expert 2 at row 1,") {
			t.Errorf("%s: %q", name, said)
		}
	}
}

// The largest finite result has an exponent that no single power of two can
// give; beyond its argument lies infinity.
func TestExpLargest(t *testing.T) {
	const top = 7.09782712893383973096e+02
	for _, x := range []float64{709.5, 709.75, top} {
		if want, _ := slowExp(x).Float64(); math.Abs(exp(x)/want-1) > 1e-15 {
			t.Errorf("exp(%v) is %v, want %v", x, exp(x), want)
		}
	}
	if got := exp(math.Nextafter(top, 1000)); !math.IsInf(got, 1) {
		t.Errorf("beyond it %v", got)
	}
}

// Logits far from zero have the gradient of their differences.
func TestBalanceOfLargeLogits(t *testing.T) {
	var near, far [4]float32
	new(Balance).AddGrad(near[:], 1, []float32{1, 0, 0, 1}, []uint8{0, 0}, 2, 1, 2)
	new(Balance).AddGrad(far[:], 1, []float32{801, 800, 800, 801}, []uint8{0, 0}, 2, 1, 2)
	if near != far {
		t.Errorf("%v at 0 and %v at 800", near, far)
	}
}

// A plan within the room that Grow made reuses it, to the last offset.
func TestGrowIsEnough(t *testing.T) {
	var d Dispatch
	d.Grow(6, 4)
	offsets, rows := &d.Offsets[0], &d.Row[0]
	d.Plan([]uint8{3, 2, 1, 0, 3, 3}, 6, 1, 4)
	if offsets != &d.Offsets[0] || rows != &d.Row[0] {
		t.Error("a plan of the size that was made room for took new memory")
	}
	if spare := cap(grown(nil, 80)); spare != 90 {
		t.Errorf("80 entries in room for %d, an eighth more is 90", spare)
	}
}

// The two ways to choose two agree on ties, zeros of either sign, infinities and NaNs.
func TestChoosingTwoIsInsertion(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	values := []float32{nan, ninf, inf32, 0, float32(math.Copysign(0, -1)), 1, -1, math.SmallestNonzeroFloat32, -math.MaxFloat32}
	for range 20000 {
		logits, bias := make([]float32, 2+rng.IntN([]int{9, MaxExperts - 1}[rng.IntN(2)])), []float32(nil)
		for i := range logits {
			logits[i] = values[rng.IntN(len(values))]
			if rng.IntN(2) == 0 {
				logits[i] = float32(rng.NormFloat64())
			}
		}
		if rng.IntN(2) == 0 {
			bias = make([]float32, len(logits))
			for i := range bias {
				bias[i] = values[rng.IntN(len(values))]
			}
		}
		var got, want [2]uint8
		var keys, wantKeys [2]float32
		chooseTwo(&got, &keys, logits, bias)
		insert(want[:], wantKeys[:], logits, bias)
		same := func(i int) bool { return keys[i] == wantKeys[i] || keys[i] != keys[i] && wantKeys[i] != wantKeys[i] }
		if got != want || !same(0) || !same(1) {
			t.Fatalf("of %v with bias %v: %v %v, by insertion %v %v", logits, bias, got, keys, want, wantKeys)
		}
	}
}
