package quicktmp

import "flag"

// Waiting lets eight parallel tests of a package run at the same time, even if there are fewer processors. It is for tests that mostly
// wait for pauses and servers. The flag -parallel overrides it.
func Waiting() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", "8") // the flag exists in every test binary
	}
}
