package job

import (
	"bytes"
	"testing"
)

// BenchmarkEvidence measures the cost of hashing the ledger: a write of a line of 350 bytes with the hash and without it.
func BenchmarkEvidence(b *testing.B) {
	line := append(bytes.Repeat([]byte("x"), 349), '\n')
	d, err := openJobFiles(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	e, err := d.openEvidence("f", nil)
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	b.Run("hash", func(b *testing.B) {
		for b.Loop() {
			if _, err := e.Write(line); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("none", func(b *testing.B) {
		for b.Loop() {
			if _, err := e.File.Write(line); err != nil {
				b.Fatal(err)
			}
		}
	})
}
