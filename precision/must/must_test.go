package must

import (
	"errors"
	"io"
	"testing"
)

// ended is a test that keeps what ended it.
type ended struct {
	testing.TB
	by []any
}

func (*ended) Helper()             {}
func (e *ended) Fatal(args ...any) { e.by = args }

func (e *ended) Errorf(format string, args ...any) { e.by = args }

// An error ends the test with its text, and none goes on with the value.
func TestMust(t *testing.T) {
	for _, err := range []error{nil, io.EOF, errors.New("other")} {
		var do, get ended
		Do(&do, err)
		value := Get(7, err)(&get)
		for _, e := range []ended{do, get} {
			if err == nil && len(e.by) > 0 || err != nil && (len(e.by) != 1 || e.by[0] != err) || value != 7 {
				t.Errorf("error %v: ended by %v, value %d", err, e.by, value)
			}
		}
	}
}

// A panic is returned, and a call without one fails the test.
func TestPanic(t *testing.T) {
	var fails, quiet ended
	got := Panic(&fails, "a fault", func() { panic(7) })
	if Panic(&quiet, "none", func() {}) != nil || got != 7 || fails.by != nil || len(quiet.by) != 1 {
		t.Errorf("panic %v, failures %v and %v", got, fails.by, quiet.by)
	}
}
