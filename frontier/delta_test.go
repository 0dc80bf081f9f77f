package frontier

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestDeltaOfSimilarTextIsSmall(t *testing.T) {
	model := []byte("\x05\x02/section/0193fa3c/article-about-things-0001234.html")
	rec := []byte("\x05\x02/section/f81c2d00/article-about-things-0001279.html")
	if small := new(deltas).append(nil, model, rec); len(small) > 22 {
		t.Errorf("%d bytes of %d", len(small), len(rec))
	}
}

// TestSimilarLongURLsTakeLittleMemory checks that text which many long URLs have in common is stored once, wherever it is
// in the URL.
func TestSimilarLongURLsTakeLittleMemory(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	token := make([]byte, 900)
	for i := range token {
		token[i] = "0123456789abcdef"[r.IntN(16)]
	}
	model := fmt.Appendf(nil, "\x05\x02/account?user=1&state=%s&n=1&session=%s", token[:450], token[450:])
	rec := fmt.Appendf(nil, "\x05\x02/account?user=2&state=%s&n=2&session=%s", token[:450], token[450:])
	small := new(deltas).append(nil, model, rec)
	if len(small) > 60 {
		t.Errorf("%d bytes of %d", len(small), len(rec))
	}
	if whole := appendWhole(nil, model, small); !slices.Equal(whole, rec) {
		t.Errorf("%q", whole)
	}
}

// FuzzDelta checks that a delta restores its record, and is never much larger than the record.
func FuzzDelta(f *testing.F) {
	f.Add([]byte("/section/1/article.html"), []byte("/section/2/article.html"))
	f.Add([]byte("m"), []byte("x"))
	f.Add([]byte("aaaaaaaaaaaaaaaaaaaaaaaa"), make([]byte, 300))
	f.Add(make([]byte, 600), make([]byte, 600))
	f.Fuzz(func(t *testing.T, model, rec []byte) {
		if len(model) == 0 {
			return
		}
		var ds deltas
		d := ds.append([]byte("before"), model, rec)
		if again := ds.append([]byte("before"), model, rec); !slices.Equal(again, d) {
			t.Errorf("%q and then %q", d, again)
		}
		if len(d) > len("before")+len(rec)+len(rec)/maxOwn+1 {
			t.Errorf("%d bytes became %d", len(rec), len(d)-len("before"))
		}
		grown := append(slices.Clone(model), "behind"...)
		if got := appendWhole(nil, grown, d[len("before"):]); !slices.Equal(got, rec) {
			t.Errorf("%q came back as %q", rec, got)
		}
	})
}
