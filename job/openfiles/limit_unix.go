//go:build unix

package openfiles

import (
	"math"
	"syscall"
)

// Limit returns the number of files that this process may have open at once; 0 if it is unknown. The Go runtime has already
// raised it to the maximum.
func Limit() int {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0
	}
	return int(min(uint64(l.Cur), math.MaxInt32)) //nolint:unconvert // it is signed elsewhere
}
