package precision

import "testing"

// runner is what tests and benchmarks share.
type runner[T any] interface {
	testing.TB
	Run(name string, f func(T)) bool
}

// eachPath runs f as a sub-test on every path that this processor has, the
// others left out.
func eachPath[T runner[T]](t T, name string, f func(t T)) {
	for _, p := range paths() {
		t.Run(name+"/"+p.String(), func(t T) {
			usePath(t, p)
			f(t)
		})
	}
}

// usePath forces a path until the test ends.
func usePath(t testing.TB, p path) {
	before := current
	t.Cleanup(func() { current = before })
	current = p
}

// onPath runs f on a path that this processor has.
func onPath(p path, f func()) {
	before := current
	defer func() { current = before }()
	current = p
	f()
}
