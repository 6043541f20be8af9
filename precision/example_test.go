package precision_test

import (
	"fmt"

	"driftlab/precision"
)

// One number in every format: fewer mantissa bits, a coarser grid.
func ExampleFormat_Round() {
	for _, name := range []string{"fp32", "tf32", "fp16", "bf16", "fp8_e4m3", "fp4_e2m1", "e5m7"} {
		f, err := precision.ParseFormat(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%-8s %v\n", f, f.Round(3.14159265))
	}
	// Output:
	// fp32     3.1415927
	// tf32     3.140625
	// fp16     3.140625
	// bf16     3.140625
	// fp8_e4m3 3.25
	// fp4_e2m1 3
	// e5m7     3.140625
}

// What lies above the largest number is a matter of declaration.
func ExampleParseFormat_overflow() {
	for _, name := range []string{"fp16", "fp16:sat", "fp8_e4m3", "fp8_e4m3:nan"} {
		f, err := precision.ParseFormat(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(f, f.Round(1e6))
	}
	// Output:
	// fp16 +Inf
	// fp16:sat 65504
	// fp8_e4m3 448
	// fp8_e4m3:nan NaN
}

func ExampleParseFormat_misspelt() {
	_, err := precision.ParseFormat("bf61")
	fmt.Println(err)
	// Output:
	// precision: unknown format "bf61"; did you mean "bf16"? known: fp32, tf32, bf16, fp16, fp8_e4m3, fp8_e5m2, fp6_e3m2, fp6_e2m3, fp4_e2m1, int8, int4, or eXmY with 2-8 exponent and 1-22 mantissa bits
}

// A sum that is rounded after each step, as an accumulator of few bits does: it
// stops growing where a step is less than half the distance to the next number.
func ExampleRounder() {
	for _, f := range []precision.Format{precision.FP32, precision.FP16, precision.BF16} {
		r := f.Rounder()
		var sum float32
		for range 3000 {
			sum = r.Round(sum + 1)
		}
		fmt.Println(f, sum)
	}
	// Output:
	// fp32 3000
	// fp16 2048
	// bf16 256
}

func ExampleFormat_RoundMode() {
	f := precision.E4M3 // neighbours of 17: 16 and 18
	fmt.Println(f.RoundMode(17, precision.NearestEven, 0))
	fmt.Println(f.RoundMode(17.9, precision.TowardZero, 0))
	// 17 lies half a step up, so half of all random numbers take it there.
	fmt.Println(f.RoundMode(17, precision.Stochastic, 0x7fffffff), f.RoundMode(17, precision.Stochastic, 0x80000000))
	// Output:
	// 16
	// 16
	// 18 16
}

func ExampleFormat_Encode() {
	fmt.Printf("%#02x %#04x %v\n", precision.E4M3.Encode(-448), precision.FP16.Encode(1), precision.E2M1.Decode(0b0101))
	// Output: 0xfe 0x3c00 3
}

// An outlier costs the whole tensor its resolution when there is one scale, and
// only its own row when there is one per row.
func ExampleQuantizer_RoundTrip() {
	weights := []float32{
		0.5, -0.25, 0.125, 0.3,
		100, 0.5, -0.25, 0.3,
	}
	for _, text := range []string{"int8/tensor", "int8/channel", "fp8_e4m3/tensor"} {
		q, err := precision.ParseQuantizer(text)
		if err != nil {
			fmt.Println(err)
			return
		}
		seen := make([]float32, len(weights))
		q.RoundTrip(seen, weights, 2, 4)
		fmt.Printf("%-16s %6.3f\n", q, seen[:4])
	}
	// Output:
	// int8/tensor      [ 0.787  0.000  0.000  0.000]
	// int8/channel     [ 0.500 -0.252  0.126  0.299]
	// fp8_e4m3/tensor  [ 0.502 -0.251  0.126  0.307]
}

func ExampleQuantizer_Quantize() {
	q, err := precision.ParseQuantizer("fp4_e2m1/mx")
	if err != nil {
		fmt.Println(err)
		return
	}
	row := []float32{0.1, -0.2, 0.7, 1.4}
	values, scales := make([]float32, 4), make([]float32, q.ScaleCount(1, 4))
	q.Quantize(values, scales, row, 1, 4)
	fmt.Println(values, scales)
	// Output: [0.5 -1 3 6] [0.25]
}
