//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package record

import (
	"os"
	"syscall"
)

// noFollow refuses to open a symbolic link.
const noFollow = syscall.O_NOFOLLOW

// lock takes an exclusive lock on an open file, or returns errHeld.
func lock(f *os.File) error {
	for {
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err {
		case syscall.EINTR:
		case syscall.EWOULDBLOCK:
			return errHeld
		default:
			return err
		}
	}
}
