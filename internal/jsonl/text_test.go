package jsonl

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// TestQuote compares Quote with a simple version based on package bytes.
func TestQuote(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.SampledFrom([]byte("ab!#[]\"\\\x00\x01\x7f\x80\xa2\xdc\xff")), 0, 40).Draw(t, "bytes")
		want := bytes.IndexAny(onlyASCII(b), `"\`)
		if want < 0 {
			want = len(b)
		}
		if got := Quote(b); got != want {
			t.Fatalf("%q: %d, want %d", b, got, want)
		}
	})
}

// onlyASCII replaces each non-ASCII character by a letter.
func onlyASCII(b []byte) []byte {
	b = bytes.Clone(b)
	for i, c := range b {
		if c >= 0x80 {
			b[i] = 'x'
		}
	}
	return b
}
