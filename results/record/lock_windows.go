package record

import (
	"os"

	"golang.org/x/sys/windows"
)

// noFollow is nothing: links need a privilege there.
const noFollow = 0

// lock takes an exclusive lock on an open file, or returns errHeld. Locks
// forbid others to read here, so it lies far after the text.
func lock(f *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
	if err == windows.ERROR_LOCK_VIOLATION {
		return errHeld
	}
	return err
}
