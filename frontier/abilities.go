package frontier

import "github.com/amble-crawler/amble/weburl"

// Knower is implemented by Frontiers that can tell cheaply for which links Add would change nothing,
// so that a crawler need not make Requests of them. It is a shortcut, never a decision: a link that
// is not reported as known still goes through Add.
type Knower interface {
	// Known sets known[i] to whether it is known that adding the URL with keys[i] at depth and with
	// priority would change nothing. The keys are made as the store makes them. With the least priority,
	// -128, it says whether the URL is known at that depth, since it cannot be raised to it. It allocates
	// nothing.
	Known(keys []weburl.Key, depth int, priority int8, known []bool)
}

// Counter is implemented by Frontiers that count their URLs.
type Counter interface {
	// Stats returns the counts of all URLs, in constant time.
	Stats() Stats
	// HostPending returns how many URLs of a host (weburl.URL.Host) are queued, waiting or claimed.
	HostPending(host string) int
}

// Rationer is implemented by Frontiers whose queue is bounded, so that a crawler can report the links for
// which there is no room.
type Rationer interface {
	// Room returns how many more URLs of a host (weburl.URL.Host) may be queued at present, and how many
	// bytes their texts may have. What exceeds it is rejected.
	Room(host string) (urls int, bytes int64)
}
