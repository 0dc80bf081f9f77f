package crawltest

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// rule is a group of robots.txt lines, with paths that show their meaning by RFC 9309.
type rule struct {
	lines          []string
	forbids, leads []string // paths that the lines forbid; similar paths that the lines allow
}

// rules returns the rules to choose from. Their paths are numbered, so that none occurs twice.
func rules(n int) []rule {
	p := func(format string) string { return fmt.Sprintf(format, n) }
	return []rule{
		{[]string{"Disallow: /private/"}, []string{p("/private/p%d"), p("/private/?p=%d")}, []string{p("/privat/p%d"), p("/Private/p%d")}},
		{[]string{"Disallow: /part/", "Allow: /part/open/"}, []string{p("/part/p%d")}, []string{p("/part/open/p%d")}},
		{[]string{p("Disallow: /exact%d$")}, []string{p("/exact%d")}, []string{p("/exact%d/"), p("/exact%dly"), p("/exact%d?a")}},
		{[]string{"Disallow: /*.secret"}, []string{p("/x/y%d.secret"), p("/y%d.secrets?z")}, []string{p("/x/y%d.secre")}},
		{[]string{"Disallow: /*?sid="}, []string{p("/s?sid=%d")}, []string{p("/s?id=%d"), p("/s?a&sid=%d")}},
		{[]string{"Disallow: /%7eclosed/"}, []string{p("/~closed/p%d")}, nil},
		{[]string{"Disallow: /~shut/"}, []string{p("/%%7Eshut/p%d")}, nil},
		{[]string{"Disallow: /tie", "Allow: /tie"}, nil, []string{p("/tie/p%d")}},
		{[]string{"Disallow: /*/deep/*/end$"}, []string{p("/a/deep/%d/end")}, []string{p("/a/deep/%d/ending")}},
		{[]string{"Disallow: "}, nil, []string{p("/all/p%d")}},
		{[]string{"Disallow: /\u00e4rger/"}, []string{p("/%%C3%%A4rger/p%d")}, nil},
	}
}

// robots generates a host's robots.txt and the pages that its rules concern.
func (b *builder) robots(h *randomHost) {
	switch {
	case h.rules == h:
		b.lostRobots(h)
		return
	case h.slow:
		delay := time.Duration(301+b.rng.IntN(3000)) * time.Second
		h.site.Robots(fmt.Sprintf("User-agent: *\nCrawl-delay: %d\n", int(delay.Seconds()))).Delays(delay)
		return
	case b.chance(8):
		b.transient(h, h.site.RobotsStatus(pick(b, []int{404, 410, 451})))
		return
	case b.chance(8) && !h.dead:
		b.farRobots(h)
		return
	case b.chance(8):
		h.site.Robots("")
		return
	}
	var lines []string
	for _, r := range rules(len(b.nodes)) {
		if !b.chance(35) {
			continue
		}
		lines = append(lines, r.lines...)
		for _, path := range r.forbids {
			b.add(h, path, nodePage).forbidden = true
		}
		for _, path := range r.leads {
			b.add(h, path, nodePage)
		}
	}
	var delay time.Duration
	if b.chance(35) && b.c.MaxDelay > 0 {
		delay = time.Duration(1+b.rng.Int64N(int64(max(b.c.MaxDelay/time.Second, 1)))) * time.Second
		lines = append(lines, fmt.Sprintf("Crawl-delay: %d", int(delay.Seconds())))
	}
	b.rng.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	b.placeRobots(h, b.robotsText(lines), delay)
}

// robotsText returns a robots.txt with the rules in the group that applies to the crawler, among groups that do not.
func (b *builder) robotsText(lines []string) string {
	agent, others := "*", []string{"User-agent: otherbot", "Disallow: /", "Crawl-delay: 3600"}
	if b.c.Agent != "" && b.chance(40) {
		agent = b.c.Agent
		others = append(others, "", "User-agent: *", "Disallow: /", "Crawl-delay: 1800")
		if b.chance(50) {
			agent = strings.ToUpper(agent)
		}
	}
	var group []string
	if b.chance(30) && len(lines) > 1 { // two groups for one agent are merged (RFC 9309 section 2.2.1)
		group = append(groupOf(agent, lines[:1]), "")
		lines = lines[1:]
	}
	group = append(group, groupOf(agent, lines)...)
	if b.chance(50) {
		group = append(append(group, ""), others...)
	} else {
		group = append(append(others, ""), group...)
	}
	return b.decorate(group)
}

// groupOf returns a group with at least one rule: without rules, its agent would share those of the next group (by
// RFC 9309 section 2.1 the rules of a group follow its last User-agent line, and Crawl-delay is not a rule).
func groupOf(agent string, lines []string) []string {
	group := append([]string{"User-agent: " + agent}, lines...)
	if !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "llow:") }) {
		group = append(group, "Disallow:")
	}
	return group
}

// decorate writes lines with comments, unusual blanks and both line endings.
func (b *builder) decorate(lines []string) string {
	end := pick(b, []string{"\n", "\n", "\r\n"})
	var s strings.Builder
	if b.chance(10) {
		s.WriteString("\ufeff")
	}
	for _, line := range lines {
		key, value, rule := strings.Cut(line, ":")
		switch {
		case rule && b.chance(10):
			line = strings.ToUpper(key) + ":" + value
		case rule && b.chance(10):
			line = "  " + strings.ToLower(key) + " :" + value + " \t"
		case rule && b.chance(10):
			line += " # why not"
		case b.chance(5):
			line += end + "# Disallow: /p" + end + "unknown: line"
		}
		s.WriteString(line + end)
	}
	return s.String()
}

// transient generates a robots.txt that fails for a while and must soon be requested again.
func (b *builder) transient(h *randomHost, r *Page) {
	if h.far {
		r.Header("Connection", "close").Header("Cache-Control", "max-age=60")
	} else if b.chance(30) {
		r.Header("Cache-Control", pick(b, []string{"max-age=60", "max-age=100", "no-store"}))
	}
	if b.c.OutageUntil > 0 {
		r.Fault(Fail(503).From(b.c.OutageFrom).Until(b.c.OutageUntil))
	}
}

// farRobots serves a robots.txt behind more redirects than a crawler follows (RFC 9309 section 2.3.1.2), so that the crawler cannot know
// its content.
func (b *builder) farRobots(h *randomHost) {
	path := fmt.Sprintf("/far-%d", len(b.nodes))
	h.site.Robots("").Status(302).Location(path)
	h.site.RedirectChain(path, robotsHops+b.rng.IntN(2), path+"-end")
	h.site.Page(path+"-end", "User-agent: *\nDisallow: /\n").Type("text/plain")
	b.hops[h.site.URL(path)] = true
	for i := 1; i < robotsHops; i++ {
		b.hops[h.site.URL(path+"-"+itoa(i))] = true
	}
}

// lostRobots makes a robots.txt redirect to a host that must not receive any more requests once its required delay is known.
func (b *builder) lostRobots(h *randomHost) {
	h.rules = nil
	to := h
	for _, o := range b.hosts {
		if o.slow {
			to = o
		}
	}
	path := fmt.Sprintf("/robots-for-%d", len(b.nodes))
	to.site.Page(path, "User-agent: *\nDisallow:\n").Type("text/plain")
	b.hops[to.site.URL(path)] = true
	h.site.Robots("").Status(302).Location(to.site.URL(path))
}

// placeRobots serves the text as the host's robots.txt, sometimes behind a redirect.
func (b *builder) placeRobots(h *randomHost, text string, delay time.Duration) {
	r := h.site.Robots(text)
	b.transient(h, r)
	if b.c.Faults >= PassingFaults && b.chance(10) {
		r.Fault(pick(b, []Fault{Fail(503).First(1), Fail(500).First(3), Reset().First(1), CutShort(10).First(1)}))
	}
	r.Delays(delay)
	if delay > 0 && b.c.Faults >= PassingFaults && b.chance(40) {
		h.strict = true
		h.site.Fault(TooFast(delay, delay))
		return
	}
	if h.dead || !b.chance(15) {
		return
	}
	to := h.site
	if b.chance(50) {
		to = b.hosts[0].site
		if h != b.hosts[0] {
			h.rules = b.hosts[0]
		}
	}
	path := fmt.Sprintf("/robots-of-%d", len(b.nodes))
	to.Page(path, text).Type("text/plain")
	b.hops[to.URL(path)] = true
	r.Status(pick(b, []int{301, 302, 307, 308})).Location(to.URL(path))
}
