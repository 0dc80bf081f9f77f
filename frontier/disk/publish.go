package disk

import (
	"github.com/amble-crawler/amble/frontier/internal/sched"
)

// publish makes the effects of a group visible, if it is durable, and unpins its hosts.
func (l *lanes) publish(g *group, durable bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	l.advance(now)
	if durable {
		for _, o := range g.ops {
			l.publishOp(o, now)
		}
	}
	for _, h := range g.hosts {
		l.hosts.Unpin(h, now)
	}
	l.notify()
}

func (l *lanes) publishOp(o *op, now int64) {
	for _, st := range o.steps {
		if st.end != nil {
			l.publishEnding(st.end, now)
		}
	}
	for _, r := range o.raises {
		l.publishRaise(r)
	}
	for _, f := range o.fresh {
		l.published = max(l.published, f.number+1)
		if f.first {
			f.host.Renew(now)
		}
		l.hosts.Offer(f.host, 1, now)
		l.add(f.host, f.entry)
	}
	l.done += o.done
	l.rejected += o.rejected
}

func (l *lanes) publishEnding(e *ending, now int64) {
	l.giveBack(e.lease)
	if e.anew {
		l.published = max(l.published, e.to.number+1)
	}
	if e.freed {
		l.hosts.Finish(e.host, e.fate, e.ready, now)
	} else {
		l.hosts.Release(e.host, e.fate, e.ready, now)
	}
	l.forgetRest(e.host)
	switch e.fate {
	case sched.Back:
		l.add(e.host, entry{e.to, e.value})
	case sched.Later:
		l.waiting.add(waiter{e.to, e.until, e.host})
	}
}
