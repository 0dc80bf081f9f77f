package frontier

import (
	"time"

	"github.com/amble-crawler/amble/weburl"
)

// origins holds what the Requests of one page have in common, once for all of them, until the last of them is
// done.
type origins struct {
	all  []origin
	free []uint32
	size int // about the bytes of those held
}

type origin struct {
	via    weburl.URL
	queued time.Time
	kind   Kind
	refs   int
}

func (o *origin) size() int { return originOverhead + len(o.via.String()) }

const originOverhead = 80

func (o *origin) of(r *Request) bool {
	return o.via == r.Via && o.kind == r.Kind && o.queued.Equal(r.Queued)
}

// hold returns the number of r's origin and counts a reference to it. It is last, which must be held or -1, if r has
// the same origin, or a new one.
func (o *origins) hold(r *Request, last int) int {
	if last >= 0 && o.all[last].of(r) {
		o.all[last].refs++
		return last
	}
	fresh := origin{via: r.Via, queued: r.Queued, kind: r.Kind, refs: 1}
	o.size += fresh.size()
	if n := len(o.free) - 1; n >= 0 {
		i := o.free[n]
		o.free = o.free[:n]
		o.all[i] = fresh
		return int(i)
	}
	o.all = append(o.all, fresh)
	return len(o.all) - 1
}

func (o *origins) release(i uint32) {
	if o.all[i].refs--; o.all[i].refs == 0 {
		o.size -= o.all[i].size()
		o.all[i] = origin{}
		o.free = append(o.free, i)
	}
}
