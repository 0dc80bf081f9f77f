package crawltest

import (
	"fmt"
	"maps"
	"slices"
)

// Truth lists the requests of a complete polite crawl of a [RandomWeb] from some seeds. The lists are sorted and contain each URL in one
// spelling; a crawler may use another spelling that differs only in escapes of unreserved characters.
type Truth struct {
	Pages     []string // URLs answered with 200
	Redirects []string // URLs answered with 3xx
	Gone      []string // URLs answered with 404
	Forbidden []string // URLs that are linked, but must never be requested
	Excused   []string // URLs that may be requested: pages that never work, and pages that are only reachable through these
	robots    map[string]bool
}

// Truth determines which URLs can be reached from the seeds through links and redirects. follow reports whether a URL is in the crawl's
// scope; nil means all. A seed that is not a URL of the web fails the test.
func (r *RandomWeb) Truth(follow func(url string) bool, seeds ...string) Truth {
	if follow == nil {
		follow = func(string) bool { return true }
	}
	starts := make([]*node, len(seeds))
	for i, s := range seeds {
		j := slices.IndexFunc(r.nodes, func(n *node) bool { return n.url() == s })
		if j < 0 {
			r.web.fatal("seed %s is not a URL of the random web", s)
		}
		starts[i] = r.nodes[j]
	}
	sure := reach(starts, follow, func(n *node) bool { return !n.broken && !n.forbidden && !n.host.lost() })
	maybe := reach(starts, follow, func(n *node) bool { return true })
	t := Truth{robots: r.hops}
	for n := range maybe {
		list := &t.Excused
		switch {
		case n.forbidden && !n.host.lifted:
			list = &t.Forbidden
		case !sure[n] || n.broken || n.forbidden || n.host.lost():
		case n.kind == nodeRedirect:
			list = &t.Redirects
		case n.kind == nodeMissing:
			list = &t.Gone
		default:
			list = &t.Pages
		}
		*list = append(*list, n.url())
	}
	for _, list := range []*[]string{&t.Pages, &t.Redirects, &t.Gone, &t.Forbidden, &t.Excused} {
		slices.Sort(*list)
	}
	return t
}

// reach returns all nodes to which nodes lead that may be requested and work, beginning with starts.
func reach(starts []*node, follow func(string) bool, works func(*node) bool) map[*node]bool {
	seen := make(map[*node]bool)
	queue := slices.Clone(starts)
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		if seen[n] || !follow(n.url()) {
			continue
		}
		seen[n] = true
		if n.forbidden && !n.host.lifted || !works(n) {
			continue
		}
		queue = append(queue, n.leads()...)
	}
	return seen
}

// leads returns the targets to which a node leads a crawler.
func (n *node) leads() []*node {
	switch {
	case n.kind == nodeRedirect:
		return []*node{n.to}
	case n.kind == nodePage && !n.nofollow:
		return n.links
	}
	return nil
}

// Check compares a finished crawl with the truth and returns a sentence for each difference: a URL that was not
// answered although it should have been, a requested URL that does not belong to the crawl, a URL answered completely
// twice. /robots.txt is ignored.
func (t Truth) Check(log []Request) []string {
	want := make(map[string]bool) // keyed by URL: whether it was answered
	for _, u := range slices.Concat(t.Pages, t.Redirects, t.Gone) {
		want[canonURL(u)] = false
	}
	excused := make(map[string]bool)
	for _, u := range t.Excused {
		excused[canonURL(u)] = true
	}
	var wrong []string
	for _, r := range log {
		u := canonURL(r.URL)
		answered, expected := want[u]
		switch {
		case pathOfURL(u) == robotsPath || t.robots[u]:
		case !expected && !excused[u]:
			wrong = append(wrong, fmt.Sprintf("request %d: %s is none of the crawl's", r.ID, r.URL))
		case answered && r.Complete && isFinal(r.Status):
			wrong = append(wrong, fmt.Sprintf("request %d: %s was answered before", r.ID, r.URL))
		case expected && r.Complete && isFinal(r.Status):
			want[u] = true
		}
	}
	for _, u := range slices.Sorted(maps.Keys(want)) {
		if !want[u] {
			wrong = append(wrong, u+" was never answered")
		}
	}
	return wrong
}

// canonURL returns the canonical spelling in which a URL is compared.
func canonURL(u string) string {
	origin := originOfURL(u)
	return origin + canonPath(u[len(origin):])
}
