// Package must ends a test at an error that is not what the test is about, and holds calls to panic.
package must

import "testing"

// Do ends the test if there is an error.
func Do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Get takes the results of a call and returns its value for a test, which ends if the call failed:
//
//	text := must.Get(os.ReadFile(path))(t)
func Get[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Do(t, err)
		return v
	}
}

// Panic is what a call panics with; a call that does not panic fails the test.
func Panic(t testing.TB, what string, call func()) (fault any) {
	t.Helper()
	defer func() {
		t.Helper()
		if fault = recover(); fault == nil {
			t.Errorf("%s: no panic", what)
		}
	}()
	call()
	return nil
}
