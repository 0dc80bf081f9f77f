// Package arch contains tests of the module's structure. They check which package may import which, which packages may start goroutines or
// open connections, that global variables do not change, that every exported name is documented, and that the list of exported names is up
// to date.
package arch
