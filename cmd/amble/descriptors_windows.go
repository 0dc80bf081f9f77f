package main

// fileLimit is how many files this process may have open at once; 0 if it is not known. Here memory is the limit.
func fileLimit() int { return 0 }
