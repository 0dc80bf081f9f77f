package openfiles

// Limit returns 0: on Windows memory is the only limit.
func Limit() int { return 0 }
