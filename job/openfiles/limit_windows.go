package openfiles

// Limit returns the number of files that this process may have open at once; 0 if it is not known. Here memory is the limit.
func Limit() int { return 0 }
