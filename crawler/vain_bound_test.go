package crawler

import (
	"errors"
	"fmt"
	"testing"

	"github.com/amble-crawler/amble/weburl"
)

// The memory for hosts that never responded is bounded.
func TestVainIsBounded(t *testing.T) {
	u, err := weburl.Parse("http://a.example/robots.txt")
	if err != nil {
		t.Fatal(err)
	}
	v := &vain{}
	for range vainAttempts {
		for i := range maxVain + 100 {
			v.note(fmt.Sprintf("%d.example:80", i), u, errors.New("no"), 0)
		}
	}
	if len(v.hosts) != maxVain || v.spent != maxVain {
		t.Errorf("%d hosts, %d tried enough", len(v.hosts), v.spent)
	}
}
