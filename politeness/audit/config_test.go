package audit

import (
	"testing"
	"time"
)

// TestHostDelaySince: a delay that the operator lengthened during the crawl applies only after requests begun since then. The newest entry
// takes precedence.
func TestHostDelaySince(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := Config{Delay: 1, HostDelays: []HostDelay{
		{Match: "a.test:80", Delay: 9, Since: at.Add(time.Hour)}, {Match: "a.test", Delay: 5, Since: at}, {Match: "192.0.2.0/24", Delay: 3, Since: at},
	}}
	for _, x := range []struct {
		host, addr string
		after      time.Duration
		want       time.Duration
	}{
		{"a.test:80", "198.51.100.1", -time.Second, time.Second}, {"a.test:80", "198.51.100.1", 0, 5 * time.Second},
		{"a.test:80", "198.51.100.1", time.Hour, 9 * time.Second}, {"a.test:443", "198.51.100.1", time.Hour, 5 * time.Second},
		{"b.test:80", "192.0.2.1", -time.Second, time.Second}, {"b.test:80", "192.0.2.1", 0, 3 * time.Second},
	} {
		if got := c.delay(&StartLine{Host: x.host, Addr: x.addr, Written: at.Add(x.after)}); got != x.want {
			t.Errorf("%s at %s, %v after: %v, want %v", x.host, x.addr, x.after, got, x.want)
		}
	}
}
