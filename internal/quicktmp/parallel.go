package quicktmp

import "flag"

// Waiting lets eight parallel tests of a package run at the same time, however few processors there are: for tests that wait for
// pauses and servers most of their time. -parallel, if it is given, decides.
func Waiting() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", "8") // which there is in every test
	}
}
