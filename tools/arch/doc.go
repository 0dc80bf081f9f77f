// Package arch contains tests that enforce the structure of the module: which package may import which, which packages may start
// goroutines or open connections, that global variables do not change, that every exported name is documented, and the list of exported
// names.
package arch
