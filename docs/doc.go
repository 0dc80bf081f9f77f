// Package docs has no code. Its tests hold the project's documents to what they describe: Go blocks
// compile, links lead somewhere, names exist, quoted defaults and the schema are the code's.
package docs
