package main

// extraHops is how many links the crawl follows out of its scope.
func extraHops(beyond bool) int {
	if beyond {
		return 1
	}
	return 0
}
