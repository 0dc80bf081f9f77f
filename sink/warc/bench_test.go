package warc

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// prose returns about n bytes of HTML that compress as well as real pages, about 5:1.
func prose(n int) string {
	r := rand.New(rand.NewPCG(1, 1))
	words := make([]string, 3000)
	for i := range words {
		b := make([]byte, 3+r.IntN(8))
		for j := range b {
			b[j] = byte('a' + r.IntN(26))
		}
		words[i] = string(b)
	}
	var b strings.Builder
	for b.Len() < n {
		switch r.IntN(12) {
		case 0:
			fmt.Fprintf(&b, "</p>\n<p class=\"%s\"><a href=\"/%s/%s\">", words[r.IntN(9)], words[r.IntN(99)], words[r.IntN(999)])
		default:
			b.WriteString(words[int(r.ExpFloat64()*200)%len(words)] + " ")
		}
	}
	return b.String()
}

func BenchmarkAppend(b *testing.B) {
	body := prose(34_000)
	for _, o := range []Options{{Level: 1}, {Level: 3}, {Level: 5}, {Level: 6}, {Level: 9}, {Compression: Zstd, Level: 1}, {Compression: Zstd}, {Compression: Zstd, Level: 3}} {
		b.Run(fmt.Sprintf("%s-%d", or(o.Compression, Gzip), o.withDefaults().Level), func(b *testing.B) {
			o.Revisits = None
			w, err := Open(b.TempDir(), o)
			if err != nil {
				b.Fatal(err)
			}
			defer w.Close(b.Context())
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			n, size := 0, int64(0)
			for b.Loop() {
				r := page("http://x.test/", body)
				if err := w.Append(b.Context(), r); err != nil {
					b.Fatal(err)
				}
				n, size = n+1, size+r.WARC.Length
			}
			b.ReportMetric(float64(size)/float64(n), "bytes/response")
		})
	}
	b.Run("revisit", func(b *testing.B) {
		w, err := Open(b.TempDir(), Options{})
		if err != nil {
			b.Fatal(err)
		}
		defer w.Close(b.Context())
		b.ReportAllocs()
		for b.Loop() {
			if err := w.Append(b.Context(), page("http://x.test/", body)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkAppendAndSync measures the cost of a record of a page of 34 kB, in an archive that is synced every N records. Each Sync is an
// fsync of the file and one of its index.
func BenchmarkAppendAndSync(b *testing.B) {
	body := prose(34_000)
	for _, every := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("Sync every %d", every), func(b *testing.B) {
			w, err := Open(b.TempDir(), Options{Revisits: None})
			if err != nil {
				b.Fatal(err)
			}
			defer w.Close(b.Context())
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				if err := w.Append(b.Context(), page("http://x.test/", body)); err != nil {
					b.Fatal(err)
				}
				if n++; n%every == 0 {
					if _, err := w.Sync(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
