//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package record

import (
	"errors"
	"os"
)

// noFollow is nothing that this system knows.
const noFollow = 0

// lock takes no lock: this system has none.
func lock(*os.File) error { return errors.ErrUnsupported }
