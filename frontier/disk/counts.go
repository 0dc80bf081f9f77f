package disk

import (
	"github.com/amble-crawler/amble/frontier"
)

// stats returns the numbers of URLs by state, as of now.
func (l *lanes) stats() frontier.Stats {
	for {
		s, loaded := l.tryStats()
		if loaded == nil {
			return s
		}
		<-loaded
	}
}

// tryStats returns a channel if the writer must first load URLs that are due; the channel is closed when it has.
func (l *lanes) tryStats() (frontier.Stats, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance(l.clock.Now())
	if l.waiting.behind(l.asOf) && l.ended == nil {
		l.wake()
		return frontier.Stats{}, l.waiting.whenLoaded()
	}
	return frontier.Stats{
		Queued:   l.hosts.Queued(),
		Waiting:  l.hosts.Waiting(),
		Claimed:  l.hosts.Held(),
		Done:     l.done,
		Rejected: l.rejected,
		Hosts:    l.hosts.Busy(),
	}, nil
}

// pending returns how many URLs of a host are queued, waiting or claimed.
func (l *lanes) pending(host uint64) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.hosts.Find(host); h != nil {
		return h.Pending()
	}
	return 0
}

// room returns how many more URLs of a host may be queued.
func (l *lanes) room(host uint64) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	perHost := l.c.MaxPendingPerHost
	if h := l.hosts.Find(host); h != nil {
		perHost -= h.Pending()
	}
	return min(l.c.MaxPending-l.hosts.Pending(), perHost)
}
