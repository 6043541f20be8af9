// Package elementary holds the float64 functions of training and its figures:
// the same bits on every processor.
//
// Those of package math are not. Some are assembly on some processors, and the
// compiler fuses the products and sums of the others where the hardware can, so
// that a metric's last digits would tell on which machine it was made. Here
// every product is converted explicitly, which forbids fusing, and the order of
// every sum is written down. Nothing is used but sums, products, quotients and,
// for the error of a product, math.FMA, which is exact everywhere.
//
// Exp, Log, Log1p, Log10 and Pow are off by at most 0.52 units in the last place
// (a Pow or Log10 whose exact value is a float64 returns it), Expm1 by 0.7 and
// CosPi by 0.9; a subnormal result, which is rounded twice, by a quarter more. The
// tests hold them to that against math/big. Zeros, their signs and what is not
// finite are treated as package math treats them.
//
// What it is not: there are no functions that nothing here calls.
package elementary
