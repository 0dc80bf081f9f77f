// Package arch contains tests that enforce the structure of the module: which package may import which, who may start
// goroutines or open connections, that nothing global changes, that every exported name is documented, and which
// names are exported at all.
package arch
