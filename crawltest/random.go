package crawltest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// RandomConfig configures a random web. The zero value is a small web without faults.
type RandomConfig struct {
	Hosts int // number of hosts; 0 means 5
	Pages int // approximate number of pages of each host; 0 means 12
	Links int // maximum number of links of each page, besides the link that makes the page reachable; 0 means 4

	// Agent is the product token for which some hosts have a separate group of rules, which takes precedence over the general group. If
	// it is "", no host has such a group.
	Agent string
	// HTTPS makes some hosts https.
	HTTPS bool
	// Faults selects the faults.
	Faults FaultLevel
	// Every robots.txt fails from OutageFrom until OutageUntil, counted from [Web.Start].
	OutageFrom, OutageUntil time.Duration
	// MaxDelay is the longest Crawl-delay of a host, in whole seconds; 0 means 10 s, and a negative value no delays.
	MaxDelay time.Duration
	// Hard adds, if Faults permits it, situations in which a crawler has to give up: hosts with a robots.txt and no
	// page that works, bot walls, pauses longer than any number, a robots.txt at a host that requires too long pauses, names
	// without an address and addresses that do not answer for a while.
	Hard bool
	// Loopback places the first host at 127.0.0.1, under this name, and others at loopback addresses. All other hosts are excused in the
	// [Truth]. It is for crawlers without a contact.
	Loopback bool
}

// FaultLevel selects the severity of a random web's faults.
type FaultLevel int

const (
	// NoFaults has slow hosts, but nothing fails.
	NoFaults FaultLevel = iota
	// PassingFaults are temporary: a crawler that makes three attempts at each URL and keeps requesting robots.txt
	// for some minutes gets every page. They are failing first answers, resets, refused connections, DNS failures,
	// Retry-After in both forms, and hosts that answer 429 if their Crawl-delay is not kept.
	PassingFaults
	// LastingFaults adds hosts that are permanently down in one way or another, and pages that never work. The
	// [Truth] excuses their URLs and all URLs that can only be reached through them.
	LastingFaults
)

// RandomWeb is a web generated from a seed, with the truth about it.
type RandomWeb struct {
	Seed  uint64
	hosts []*randomHost
	nodes []*node
	hops  map[string]bool // targets of robots.txt redirects
	web   *Web

	loopback bool
}

// randomHost is a host that is being generated.
type randomHost struct {
	site  *Site
	open  []*node // targets of links and redirects
	dead  bool
	far   bool // connecting takes time, and a connection serves only one request
	slow  bool // the host requires longer pauses than a crawler may accept, so it counts as dead
	files int

	failing bool        // the host has a robots.txt, and pages that never work; it counts as dead
	walled  bool        // the host's pages are challenges of a bot wall; failing is set, too
	strict  bool        // the host answers 429 if its Crawl-delay is not kept
	excused bool        // set by Excuse
	lifted  bool        // set by Lift
	rules   *randomHost // the host of this host's robots.txt; nil if it is the same host
}

// lost reports whether a crawler need not fetch any page of the host.
func (h *randomHost) lost() bool {
	return h.dead || h.excused || h.rules != nil && h.rules.lost()
}

// Lift makes [RandomWeb.Truth] excuse the URLs of an origin that its robots.txt forbids, because the operator
// overrides it.
func (r *RandomWeb) Lift(origin string) {
	for _, h := range r.hosts {
		h.lifted = h.lifted || h.site.origin == origin
	}
}

// RandomHost is one host of a RandomWeb.
type RandomHost struct {
	Host   string // host:port
	Origin string
	Name   string
	Works  bool // the host is not permanently down
	Strict bool // the host answers 429 if its Crawl-delay is not kept
}

// Hosts returns the web's hosts, in the order in which they were generated.
func (r *RandomWeb) Hosts() []RandomHost {
	hosts := make([]RandomHost, len(r.hosts))
	for i, h := range r.hosts {
		hosts[i] = RandomHost{Host: h.site.key, Origin: h.site.origin, Name: h.site.host, Works: !h.dead, Strict: h.strict}
	}
	return hosts
}

// Excuse makes [RandomWeb.Truth] excuse all URLs of the hosts of a name, and of the hosts whose robots.txt is there:
// the crawler may stop requesting them at any time, for example because the host opted out.
func (r *RandomWeb) Excuse(name string) {
	for _, h := range r.hosts {
		h.excused = h.excused || h.site.host == name
	}
}

type nodeKind int

const (
	nodePage nodeKind = iota
	nodeText          // not HTML, so without links
	nodeRedirect
	nodeMissing // 404
	nodeHidden  // a URL that is mentioned only where links do not count, as a trap
)

// node is one URL.
type node struct {
	host      *randomHost
	path      string
	kind      nodeKind
	forbidden bool
	nofollow  bool // the page asks crawlers not to follow its links
	broken    bool // the page never works
	links     []*node
	hidden    []*node
	to        *node // target of a redirect
	fault     *Fault
}

func (n *node) url() string { return n.host.site.URL(n.path) }

// builder makes a RandomWeb.
type builder struct {
	*RandomWeb
	c   RandomConfig
	rng *rand.Rand
	odd *rand.Rand // separate generator for bot walls, so that they do not change other random choices
}

// Random adds a web generated from a seed: pages with links across hosts in many spellings; redirects in chains, in
// loops, across hosts and to forbidden pages; robots.txt files of many forms with the truth about what they forbid;
// crawl delays; several names at one address; text that looks like links. The same seed and configuration give the
// same web. It must be called on a Web without sites.
//
// The robots.txt files follow RFC 9309; pages may say in META robots or X-Robots-Tag that their links must not be
// followed. A crawler that follows <a href> and redirects must request exactly what [RandomWeb.Truth] says.
func (w *Web) Random(seed uint64, c RandomConfig) *RandomWeb {
	c.Hosts, c.Pages, c.Links = orInt(c.Hosts, 5), orInt(c.Pages, 12), orInt(c.Links, 4)
	if c.MaxDelay == 0 {
		c.MaxDelay = 10 * time.Second
	}
	b := &builder{
		RandomWeb: &RandomWeb{Seed: seed, web: w, hops: make(map[string]bool), loopback: c.Loopback},
		c:         c, rng: rand.New(rand.NewPCG(seed, 0x616d626c65)), odd: rand.New(rand.NewPCG(seed, 0x77616c6c)),
	}
	for i := range c.Hosts {
		b.addHost(i)
	}
	for _, h := range b.hosts {
		b.addPages(h)
	}
	for _, h := range b.hosts {
		b.addRedirects(h)
	}
	b.link()
	for _, n := range b.nodes {
		b.serve(n)
	}
	return b.RandomWeb
}

func orInt(v, def int) int {
	if v <= 0 {
		return def
	}
	return v
}

// Seeds returns the roots of the first hosts that work, at least one host in three.
func (r *RandomWeb) Seeds() []string {
	var seeds []string
	for _, h := range r.hosts {
		if !h.dead && len(seeds) <= len(r.hosts)/3 && (h.site.host == r.hosts[0].site.host || !r.loopback) {
			seeds = append(seeds, h.site.URL("/"))
		}
	}
	return seeds
}

func (b *builder) chance(percent int) bool { return b.rng.IntN(100) < percent }

func pick[T any](b *builder, from []T) T { return from[b.rng.IntN(len(from))] }

func (b *builder) add(h *randomHost, path string, kind nodeKind) *node {
	n := &node{host: h, path: path, kind: kind}
	b.nodes = append(b.nodes, n)
	if kind != nodeHidden {
		h.open = append(h.open, n)
	}
	return n
}

// addHost generates a host. The first one always works. Hosts that do not work have separate names and addresses, so that no other host
// fails with them.
func (b *builder) addHost(i int) {
	h := &randomHost{dead: i > 0 && b.c.Faults >= LastingFaults && b.chance(25)}
	name, port := fmt.Sprintf("h%d.example", i), ""
	var other *randomHost
	if i > 0 && !h.dead {
		other = pick(b, b.alive())
	}
	switch {
	case i == 0 && b.c.Loopback:
		name = "127.0.0.1"
	case other != nil && b.chance(15) && !other.literal(): // another host of the same registrable domain
		name = fmt.Sprintf("s%d.%s", i, other.site.host)
	case other != nil && b.chance(15): // another port of the same name
		name, port = other.site.host, fmt.Sprintf(":%d", 8000+i)
	}
	scheme := "http://"
	if b.c.HTTPS && b.chance(40) && !(b.c.Loopback && name == "127.0.0.1") {
		scheme = "https://"
	}
	h.site = b.web.Site(scheme + name + port)
	if b.c.Loopback && i > 0 && port == "" {
		b.placeLocal(h, i)
	}
	if b.c.Faults >= PassingFaults && b.chance(25) {
		h.site.Clock(-time.Duration(b.rng.IntN(7200)) * time.Second)
	}
	if other != nil && !h.dead && port == "" && b.chance(25) {
		h.site.Address(other.site.Addr().String())
	}
	b.hosts = append(b.hosts, h)
	b.siteFaults(h)
	if h.far = !h.dead && b.chance(20); h.far {
		h.site.Fault(SlowConnect(time.Duration(1+b.rng.IntN(8000)) * time.Millisecond))
	}
	if b.chance(15) {
		h.site.Latency(time.Duration(1+b.rng.IntN(5000)) * time.Millisecond)
	} else {
		h.site.Latency(time.Duration(b.rng.IntN(200)) * time.Millisecond)
	}
}

func (h *randomHost) literal() bool { return h.site.host == "127.0.0.1" }

// placeLocal gives a host a loopback address, or leaves its public one, which must not be requested.
func (b *builder) placeLocal(h *randomHost, i int) {
	if b.chance(60) {
		h.site.Address(fmt.Sprintf("127.0.0.%d", 1+i))
		return
	}
	h.dead, h.excused = true, true
}

func (b *builder) alive() []*randomHost {
	return slices.DeleteFunc(slices.Clone(b.hosts), func(h *randomHost) bool { return h.dead })
}

// addPages generates a host's pages and its robots.txt, which belong together.
func (b *builder) addPages(h *randomHost) {
	b.add(h, "/", nodePage)
	for range b.c.Pages {
		h.files++
		b.add(h, b.path(h.files), b.kind())
	}
	b.robots(h)
}

func (b *builder) kind() nodeKind {
	switch {
	case b.chance(6):
		return nodeMissing
	case b.chance(6):
		return nodeText
	}
	return nodePage
}

// path returns a new path in one of many shapes; the rules written by robots match none of them.
func (b *builder) path(i int) string {
	return fmt.Sprintf(pick(b, []string{
		"/p%d", "/dir/p%d.html", "/dir/sub/p%d", "/q?x=%d", "/q?y=%d&z=a%%20b", "/~user/p%d", "/%%C3%%A4/p%d", "/a;b=%d", "/dir%d/",
	}), i)
}

// addRedirects generates chains, loops, and redirects to other hosts and to forbidden pages.
func (b *builder) addRedirects(h *randomHost) {
	for range 1 + b.c.Pages/6 {
		h.files++
		base := fmt.Sprintf("/r%d", h.files)
		chain := []*node{b.add(h, base, nodeRedirect)}
		for i := range b.rng.IntN(4) {
			chain = append(chain, b.add(h, fmt.Sprintf("%s-%d", base, i), nodeRedirect))
		}
		for i, n := range chain[:len(chain)-1] {
			n.to = chain[i+1]
		}
		chain[len(chain)-1].to = b.redirectEnd(h, chain)
	}
}

func (b *builder) redirectEnd(h *randomHost, chain []*node) *node {
	if b.chance(20) {
		return pick(b, chain) // a loop
	}
	if b.chance(40) {
		h = pick(b, b.hosts)
	}
	for {
		if n := pick(b, h.open); n.kind != nodeRedirect {
			return n
		}
	}
}

// link connects the nodes: each gets one link from an earlier page of the same host, each host one from another host,
// and then there are random links.
func (b *builder) link() {
	for i, h := range b.hosts {
		root := h.open[0]
		if i > 0 {
			from := b.hosts[b.rng.IntN(i)].open[0]
			from.links = append(from.links, root)
		}
		for j, n := range h.open[1:] {
			from := root
			if p := pick(b, h.open[:j+1]); p.kind == nodePage && !p.forbidden {
				from = p
			}
			from.links = append(from.links, n)
		}
	}
	for _, n := range b.nodes[:len(b.nodes):len(b.nodes)] {
		b.linkMore(n)
	}
}

func (b *builder) linkMore(n *node) {
	for range b.rng.IntN(b.c.Links + 1) {
		h := n.host
		if b.chance(30) {
			h = pick(b, b.hosts)
		}
		n.links = append(n.links, pick(b, h.open))
	}
	if b.chance(40) {
		n.host.files++
		n.hidden = append(n.hidden, b.add(n.host, fmt.Sprintf("/hidden%d", n.host.files), nodeHidden))
	}
	n.nofollow = n.kind == nodePage && n.path != "/" && b.chance(4)
	b.pageFaults(n)
}

// siteFaults chooses the fault of a host as a whole.
func (b *builder) siteFaults(h *randomHost) {
	switch {
	case h.excused: // a public host, which has no fault but must not receive any request
	case h.dead && b.chance(15):
		h.slow = true
	case h.dead && b.c.Hard && b.chance(50):
		b.hardFaults(h)
	case h.dead:
		faults := []Fault{
			NXDomain(), DNSTimeout(), Refuse(), NoConnect(), ResetOnConnect(), Hang(), Reset(), Fail(503), Stall(0),
			RetryAfter(503, 24*time.Hour),
		}
		if h.site.scheme == "https" {
			faults = append(faults, TLSAlert(), WrongCertificate(), ExpiredCertificate())
		}
		h.site.Fault(pick(b, faults))
	case b.c.Hard && b.c.Faults >= PassingFaults && b.chance(20):
		h.site.Fault(pick(b, []Fault{DNSFailure().First(2), NoConnect().First(1), Refuse().First(2), Reset().First(2)}))
	case b.c.Faults >= PassingFaults && b.chance(50):
		h.site.Fault(pick(b, []Fault{
			Fail(503).First(1), Fail(500).First(1), Reset().First(1), DNSFailure().First(1), Refuse().First(1),
			RetryAfter(429, 30*time.Second).First(1), RetryAfterDate(503, 20*time.Second).First(1),
		}))
	}
}

// hardFaults chooses the fault of a host that a crawler has to give up.
func (b *builder) hardFaults(h *randomHost) {
	switch n := b.rng.IntN(4); n {
	case 0, 1:
		h.failing, h.walled = true, b.odd.IntN(3) == 0
	case 2:
		f := RetryAfterValue(pick(b, []int{429, 503}), "99999999999999999999")
		if b.odd.IntN(3) == 0 { // requests for robots.txt fail, too
			f = Challenge([]int{200, 202, 403, 404}[b.odd.IntN(4)])
		}
		h.site.Fault(f)
	default: // the method robots handles this case
		h.rules = h
	}
}

// pageFaults chooses the fault of one page.
func (b *builder) pageFaults(n *node) {
	var faults []Fault
	switch {
	case n.host.walled:
		faults = []Fault{Challenge(200), Challenge(202), Challenge(403), Challenge(503)}
	case n.host.failing:
		faults = []Fault{Fail(500), Fail(503), Fail(429), CutShort(3)}
	case b.c.Faults >= LastingFaults && !b.c.Hard && n.path != "/" && b.chance(4):
		n.broken = true
		faults = []Fault{Hang(), Reset(), Fail(500), CutShort(5), ResetAfter(5), Stall(5)}
	case b.c.Faults >= PassingFaults && b.chance(10):
		if b.c.Hard && b.chance(50) {
			faults = []Fault{RetryAfterDate(503, 15*time.Second).First(1), RetryAfterDate(429, 25*time.Second).First(1)}
			break
		}
		faults = []Fault{Fail(500).First(1), Fail(502).First(1), Reset().First(1), RetryAfter(503, 10*time.Second).First(1)}
	default:
		return
	}
	f := pick(b, faults)
	n.fault = &f
}
