package cluster

import (
	"context"
	"strconv"
	"time"
)

// watcher compares the counts of the job's shards with its limits. The owner of shard 0 does this.
type watcher struct {
	last   time.Time
	begun  time.Time
	counts map[int]Counts // latest answer of each shard
}

// limit ends the job when it has reached one of its limits.
func (n *Node) limit(ctx context.Context) {
	w, l := &n.watcher, n.current().Limits
	l.Pages = n.allowed
	if l == (Limits{}) || n.shard(0) == nil || time.Since(w.last) < n.job.TTL/6 {
		return
	}
	w.last = time.Now()
	if l.Time > 0 && n.began(ctx) && time.Since(w.begun) >= l.Time {
		n.end(ctx, EndTime)
		return
	}
	if why := n.reached(ctx, l); why != "" {
		n.end(ctx, why)
	}
}

// reached returns the limit that is reached, "" if none is.
func (n *Node) reached(ctx context.Context, l Limits) string {
	if l.Bytes == 0 && l.Failed == 0 && (l.Pages == 0 || n.left > 0) {
		return ""
	}
	all, err := readShards(ctx, n.engine, n.job.Shards)
	if err != nil {
		return "" // try again in the next step
	}
	if n.watcher.counts == nil {
		n.watcher.counts = map[int]Counts{}
	}
	var sum Counts
	idle := true
	for _, s := range all {
		if s.Answered {
			n.watcher.counts[s.Number] = s.Counts
		}
		c := n.watcher.counts[s.Number]
		sum.Pages, sum.Bytes, sum.Failed = sum.Pages+c.Pages, sum.Bytes+c.Bytes, sum.Failed+c.Failed
		idle = idle && s.Answered && s.Idle
	}
	switch {
	case l.Pages > 0 && sum.Pages >= l.Pages && !idle: // committed pages are never lost, so the limit stays reached
		return EndPages
	case l.Bytes > 0 && sum.Bytes >= l.Bytes:
		return EndBytes
	case l.Failed > 0 && sum.Failed >= l.Failed:
		return EndFailed
	}
	return ""
}

// began finds out when the job began, and reports whether w.begun is set.
func (n *Node) began(ctx context.Context) bool {
	w := &n.watcher
	if !w.begun.IsZero() {
		return true
	}
	b, rev, err := n.engine.Load(ctx, registerBegun)
	if err != nil {
		return false
	}
	if len(b) == 0 {
		now := time.Now()
		_, err := n.engine.Store(ctx, registerBegun, strconv.AppendInt(nil, now.UnixMilli(), 10), rev)
		return err == nil && w.since(now)
	}
	at, err := strconv.ParseInt(string(b), 10, 64)
	return err == nil && w.since(time.UnixMilli(at))
}

func (w *watcher) since(t time.Time) bool {
	w.begun = t
	return true
}

// readPages reads the number of pages left, and the shards that wait for pages.
func (n *Node) readPages(ctx context.Context) {
	if n.job.Limits.Pages == 0 {
		return
	}
	g, rev, err := loadGrants(ctx, n.engine, &n.job)
	if err == nil && g.raise(n.job.Limits.Pages, n.current().Limits.Pages) {
		err = storeJSON(ctx, n.engine, registerPages, g, rev)
	}
	if err != nil {
		return // try again in the next step
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.left, n.starving, n.allowed = g.Left, g.Starving, max(g.Limit, n.job.Limits.Pages)
}

// tidyPages calls pages.tidy with the shards that wait for pages.
func (n *Node) tidyPages(ctx context.Context, s *Shard) {
	if s.pages == nil {
		return
	}
	n.mu.Lock()
	starving := n.starving
	n.mu.Unlock()
	s.pages.tidy(ctx, starving)
}
