// Package mutants tests the tests of politeness: each mutant switches one protection off, and some test
// must fail for it. It has no code of its own.
//
//	go test ./internal/mutants                # a few mutants
//	go test ./internal/mutants -mutants.all   # all of them, some minutes
package mutants
