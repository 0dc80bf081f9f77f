package warc

import "testing"

func TestNameIsTheSameAfterOpeningAgain(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		w := open(t, dir, Options{Prefix: "other"})
		if got := w.Name(); got != "warc" {
			t.Errorf("%q", got)
		}
		w.Close(t.Context())
	}
}
