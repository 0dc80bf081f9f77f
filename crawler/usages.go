package crawler

import (
	"slices"

	"github.com/amble-crawler/amble/robots"
)

// usageNames lists the uses that are counted by name, followed by all others.
var usageNames = [...]string{robots.UseTrainAI, robots.UseAI, robots.UseSearch, robots.UseTDM, robots.UseTrainAIImage, "other"}

// usageCounts counts visits by use: first those that allow it, then those that disallow it.
type usageCounts [2 * len(usageNames)]uint32

// maxUsageHosts is the number of hosts whose usage is counted by host.
const maxUsageHosts = 1000

// usages counts what sites say about the uses of their pages. The caller holds the lock of the tally that
// it belongs to.
type usages struct {
	all   usageCounts
	hosts map[string]*usageCounts
	more  int // visits at other hosts
}

// count counts a visit, and reports whether its page says anything about uses.
func (n *usages) count(host string, u robots.Usage) bool {
	if !slices.ContainsFunc(u.Statements, func(s robots.Statement) bool { return s.Signal != robots.Unsaid }) {
		return false
	}
	var said [len(usageNames)]robots.Signal
	for _, s := range u.Statements {
		i := usageIndex(s.Use)
		said[i] = max(said[i], s.Signal)
	}
	h := n.host(host)
	if h == nil {
		n.more++
		h = &usageCounts{}
	}
	for i, signal := range said {
		switch signal {
		case robots.Allowed:
			n.all[i]++
			h[i]++
		case robots.Disallowed:
			n.all[len(usageNames)+i]++
			h[len(usageNames)+i]++
		}
	}
	return true
}

func usageIndex(use string) int {
	for i, name := range usageNames {
		if name == use {
			return i
		}
	}
	return len(usageNames) - 1
}

// host returns the counts of a host, nil if there are already too many hosts.
func (n *usages) host(name string) *usageCounts {
	h := n.hosts[name]
	if h == nil && len(n.hosts) < maxUsageHosts {
		if n.hosts == nil {
			n.hosts = map[string]*usageCounts{}
		}
		h = &usageCounts{}
		n.hosts[name] = h
	}
	return h
}

// of returns the counts of a host, all zero if it is not counted.
func (n *usages) of(host string) usageCounts {
	if h := n.hosts[host]; h != nil {
		return *h
	}
	return usageCounts{}
}

// recall continues the counts of a host.
func (n *usages) recall(host string, was usageCounts) {
	if was == (usageCounts{}) {
		return
	}
	if h := n.host(host); h != nil {
		*h = was
	}
}

// report returns the counts by the names of [Report.Usage].
func (n *usages) report() (all map[string]int, hosts map[string]map[string]int, more int) {
	for name, h := range n.hosts {
		if hosts == nil {
			hosts = map[string]map[string]int{}
		}
		hosts[name] = h.named()
	}
	return n.all.named(), hosts, n.more
}

func (c *usageCounts) named() (m map[string]int) {
	for i, n := range c {
		if n == 0 {
			continue
		}
		if m == nil {
			m = map[string]int{}
		}
		signal := robots.Allowed
		if i >= len(usageNames) {
			signal = robots.Disallowed
		}
		m[usageNames[i%len(usageNames)]+" "+signal.String()] = int(n)
	}
	return m
}
