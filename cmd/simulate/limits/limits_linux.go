package limits

import (
	"strconv"
	"syscall"
)

// What the program takes to begin: below it the Go runtime ends with its own trace.
const (
	leastFiles        = 16
	leastAddressSpace = 2 << 30
)

func init() {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) == nil && l.Cur < leastFiles {
		refuse("the process may open " + strconv.FormatUint(l.Cur, 10) + " files and needs " + strconv.Itoa(leastFiles) + ": raise the limit (ulimit -n)")
	}
	if syscall.Getrlimit(syscall.RLIMIT_AS, &l) == nil && l.Cur < leastAddressSpace {
		refuse("the address space is limited to " + strconv.FormatUint(l.Cur>>20, 10) + " MiB and " + strconv.Itoa(leastAddressSpace>>20) + " are needed: raise the limit (ulimit -v)")
	}
}

// refuse ends the process as bad input does.
func refuse(problem string) {
	_, _ = syscall.Write(2, []byte("simulate: "+problem+"\n"))
	syscall.Exit(2)
}
