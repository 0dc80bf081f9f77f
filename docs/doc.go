// Package docs has no code. Its tests compare the project's documents with what they describe: Go blocks compile,
// links lead somewhere, names exist, recipes run, quoted defaults, the reference and the schemas are those of the
// code.
package docs
