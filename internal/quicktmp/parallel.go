package quicktmp

import (
	"flag"
	"runtime"
	"strconv"
)

// Waiting lets eight parallel tests of a package run at the same time, however few processors there are: for tests that wait for
// pauses and servers most of their time. -parallel, if it is given, decides.
func Waiting() {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = f.Value.Set("8")
	}
}
