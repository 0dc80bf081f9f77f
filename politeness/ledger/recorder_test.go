package ledger_test

import (
	"errors"
	"testing"

	"github.com/amble-crawler/amble/politeness/ledger"
)

// recorder is an in-memory ledger that records entries without encoding them.
type recorder struct {
	entries []ledger.Entry
	err     error
}

func (r *recorder) Write([]byte) (int, error) { panic("a line was written") }

func (r *recorder) Record(e *ledger.Entry) error {
	r.entries = append(r.entries, *e)
	return r.err
}

// TestRecorder: a ledger that accepts entries gets them without encoding, and without lines and heads. Its errors are handled like those of
// Write.
func TestRecorder(t *testing.T) {
	r := &recorder{}
	w := ledger.NewWriter(r, 0)
	e := ledger.Entry{Event: ledger.Start, Run: "r", ID: 7, URL: "https://site.example/<\n>"}
	if err := w.Write(&e); err != nil || w.Discards() || len(r.entries) != 1 || r.entries[0].URL != e.URL || w.Size() != 0 {
		t.Errorf("%v, %d bytes, %+v", err, w.Size(), r.entries)
	}
	if err := w.Sign("r", func(ledger.Chain) (string, error) { return "token", nil }); err != nil || len(r.entries) != 1 {
		t.Errorf("%v, %d entries", err, len(r.entries))
	}
	r.err = errors.New("full")
	if err := w.Write(&e); !errors.Is(err, r.err) {
		t.Error(err)
	}
}
