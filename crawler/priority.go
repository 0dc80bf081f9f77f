package crawler

import (
	"runtime/debug"

	"github.com/amble-crawler/amble/weburl"
)

// priority calls Config.Priority for the link at an index, which leads to u and is about to be queued. A
// panic there fails the visit.
func (c *Config) priority(v *Visit, at int, u weburl.URL) (p int8) {
	if c.Priority == nil || v.broken != nil {
		return 0
	}
	defer func() {
		if x := recover(); x != nil {
			v.broken = &PanicError{"Config.Priority", x, debug.Stack()}
		}
	}()
	return c.Priority(v, &Link{Link: v.Doc.Links[at], URL: u, Fate: FateFollow})
}
