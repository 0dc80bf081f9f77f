package sink

import (
	"fmt"
	"io"
	"path/filepath"
	"testing"
)

// BenchmarkAppendAndSync measures the cost of a record in a file that is synced every N records, and in a stream. Each Sync is an fsync,
// whose time depends on the disk. It is shared by the records since the previous Sync.
func BenchmarkAppendAndSync(b *testing.B) {
	for _, every := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("file/Sync every %d", every), func(b *testing.B) {
			j, err := OpenJSONL(filepath.Join(b.TempDir(), "visits.jsonl"))
			if err != nil {
				b.Fatal(err)
			}
			defer j.Close(b.Context())
			benchAppend(b, j, every)
		})
	}
	b.Run("file/never", func(b *testing.B) {
		j, err := OpenJSONL(filepath.Join(b.TempDir(), "visits.jsonl"))
		if err != nil {
			b.Fatal(err)
		}
		defer j.Close(b.Context())
		benchAppend(b, j, 0)
	})
	b.Run("stream", func(b *testing.B) { benchAppend(b, NewJSONL(io.Discard), 0) })
}

func benchAppend(b *testing.B, s Sink, every int) {
	b.Helper()
	b.ReportAllocs()
	r, n := page(), 0
	for b.Loop() {
		if err := s.Append(b.Context(), r); err != nil {
			b.Fatal(err)
		}
		if n++; every > 0 && n%every == 0 {
			if _, err := s.Sync(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
}
