package crawler

import (
	"errors"
	"fmt"
	"testing"

	"github.com/amble-crawler/amble/weburl"
)

// The memory for hosts that never responded is bounded.
func TestUnansweredHostsAreBounded(t *testing.T) {
	u, err := weburl.Parse("http://a.example/robots.txt")
	if err != nil {
		t.Fatal(err)
	}
	v := &unanswered{}
	for range enoughAttempts {
		for i := range maxUnanswered + 100 {
			v.note(fmt.Sprintf("%d.example:80", i), u, errors.New("no"), 0)
		}
	}
	if len(v.hosts) != maxUnanswered || v.spent != maxUnanswered {
		t.Errorf("%d hosts, %d tried enough", len(v.hosts), v.spent)
	}
}
