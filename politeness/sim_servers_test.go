package politeness_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// web represents a small set of servers without sockets. It holds their responses and what these mean. The judge reads the meaning here,
// while the Gate has to parse the responses.
type web struct {
	rng     *rand.Rand
	odd     *rand.Rand // separate source, so that bot walls do not change the rest of a history
	walled  bool       // servers have bot walls
	servers []*server
	byHost  map[string]*server
	files   []*robotsFile
}

// server represents one host:port.
type server struct {
	host    string
	addrs   []netip.Addr
	skew    time.Duration // difference of the server's clock
	trouble time.Time     // until then, most requests for pages fail
	wall    time.Time     // until then, most responses are challenges
	sites   [2]site       // http, https
}

// site represents one origin, and how its robots.txt behaves.
type site struct {
	file   *robotsFile
	outage time.Time // until then, requests for robots.txt fail
	maze   bool      // robots.txt redirects in a circle
}

// robotsFile represents one version of a robots.txt. No two versions have the same body.
type robotsFile struct {
	body  string
	no    []string // prefixes of the forbidden paths
	delay time.Duration
}

// forbids reports whether a path is forbidden. A nil file forbids nothing.
func (f *robotsFile) forbids(path string) bool {
	if f == nil {
		return false
	}
	for _, no := range f.no {
		if strings.HasPrefix(path, no) {
			return true
		}
	}
	return false
}

// answer represents a server's response to one request.
type answer struct {
	status int // 0: the connection is reset
	header http.Header
	cut    string // reason why the body is incomplete
	took   time.Duration
	body   string
	file   *robotsFile   // what the body means; nil: no rules
	life   time.Duration // time for which the response is fresh
	to     string        // target of a redirect
	wait   time.Duration // pause that the server requests, if asks is true
	asks   bool
	ahead  time.Duration // how much longer the pause is because the server's clock is fast
	used   time.Duration // time until the quota in a RateLimit field is reset
	dated  bool          // Retry-After is a date, which has whole seconds
	wall   string        // name of the bot wall that has sent the challenge
}

func (a *answer) String() string {
	if a == nil {
		return "no answer"
	}
	s := fmt.Sprintf("%d %s %v", a.status, a.cut, a.header)
	if a.wall != "" {
		s += " challenge of " + a.wall
	}
	if a.file != nil {
		s += fmt.Sprintf(" forbids %v, pause %v", a.file.no, a.file.delay)
	}
	return s
}

var errReset = errors.New("connection reset by peer")

// reply returns the response as the caller reports it.
func (a *answer) reply() politeness.Reply {
	r := politeness.Reply{Status: a.status, Header: a.header, Body: []byte(a.body), Truncated: a.cut, Wall: a.wall, Ended: time.Now()}
	if a.status == 0 {
		r.Err, r.Body, r.Truncated, r.Wall = errReset, nil, "", ""
		if a.took > 5*time.Second {
			r.Err = os.ErrDeadlineExceeded
		}
	}
	return r
}

// addresses lists so few addresses that hosts share some of them. Two are loopback addresses.
var addresses = []netip.Addr{
	netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("2001:db8::3"),
	netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2"),
}

func newWeb(rng, odd *rand.Rand) *web {
	w := &web{rng: rng, odd: odd, walled: odd.IntN(5) == 0, byHost: map[string]*server{}}
	for i := range 1 + rng.IntN(5) {
		s := &server{host: fmt.Sprintf("h%d.site%d.test:8080", i, i/2)}
		for range 1 + rng.IntN(3) {
			s.addrs = append(s.addrs, addresses[rng.IntN(len(addresses))])
		}
		if rng.IntN(2) == 0 {
			s.skew = time.Duration(rng.IntN(7200)-3600) * time.Second
		}
		s.sites[1].maze = rng.IntN(6) == 0
		w.servers = append(w.servers, s)
		w.byHost[s.host] = s
	}
	return w
}

func pick[T any](rng *rand.Rand, of ...T) T { return of[rng.IntN(len(of))] }

// page returns a random URL.
func (w *web) page() weburl.URL {
	return mustParse(fmt.Sprintf("%s://%s/a%d", pick(w.rng, "https", "https", "http"), pick(w.rng, w.servers...).host, w.rng.IntN(4)))
}

func mustParse(raw string) weburl.URL {
	u, err := weburl.Parse(raw)
	if err != nil {
		panic(err)
	}
	return u
}

// has reports whether a is one of the host's addresses.
func (w *web) has(host string, a netip.Addr) bool {
	for _, known := range w.byHost[host].addrs {
		if known == a.Unmap() {
			return true
		}
	}
	return false
}

// answer returns the response to a request that arrives now.
func (w *web) answer(u weburl.URL) *answer {
	s := w.byHost[u.Host()]
	a := &answer{header: http.Header{}, took: w.latency()}
	switch {
	case strings.HasPrefix(u.Path(), "/a"):
		w.content(s, a)
	case u.Path() == "/robots.txt":
		w.robots(s, &s.sites[len(u.Scheme())-len("http")], a)
	default: // a path that is the target of a redirect
		w.robots(s, &site{maze: strings.HasPrefix(u.Path(), "/maze")}, a)
	}
	w.challenge(s, a)
	if a.to != "" && w.rng.IntN(4) == 0 {
		a.asks = true
	}
	if a.asks {
		w.retryAfter(s, a)
	}
	if a.status != 0 && w.rng.IntN(24) == 0 {
		w.rateLimit(a)
	}
	return a
}

// challenge lets a bot wall respond instead of the server: to nearly every request for some time, and sometimes to a single one. The
// challenge keeps the body of the server's response, and often its status. Some walls answer robots.txt with 202.
func (w *web) challenge(s *server, a *answer) {
	if !w.walled || a.to != "" || a.status == 0 {
		return
	}
	now := time.Now()
	if w.odd.IntN(10) == 0 {
		s.wall = now.Add(time.Duration(w.odd.ExpFloat64() * float64(pick(w.odd, time.Minute, time.Hour, 40*time.Hour))))
	}
	if now.Before(s.wall) && w.odd.IntN(12) > 0 || w.odd.IntN(20) == 0 {
		a.wall = pick(w.odd, "Anubis", "Cloudflare", "Imperva")
		a.status = pick(w.odd, a.status, 200, 202, 403, 404, 503)
	} else if a.status == 200 && w.odd.IntN(40) == 0 {
		a.status = 202
	}
}

func (w *web) latency() time.Duration {
	return time.Duration(w.rng.Int64N(int64(pick(w.rng, 100*time.Millisecond, 300*time.Millisecond, 2*time.Second, 8*time.Second, time.Minute))))
}

// content fills in the response for a page. Its body looks like a robots.txt: a Gate that uses it as one would be noticed.
func (w *web) content(s *server, a *answer) {
	now := time.Now()
	if w.rng.IntN(20) == 0 {
		s.trouble = now.Add(time.Duration(w.rng.ExpFloat64() * float64(3*time.Minute)))
	}
	a.status, a.body = 200, "User-agent: *\nAllow: /\n"
	if now.Before(s.trouble) || w.rng.IntN(8) == 0 {
		a.status = pick(w.rng, 0, 429, 500, 503, 503)
		a.asks = w.rng.IntN(2) == 0 && (a.status == 429 || a.status == 503)
	} else if w.rng.IntN(16) == 0 {
		a.cut = pick(w.rng, politeness.CutShort, politeness.CutIdle, politeness.CutByLength)
	} else if w.rng.IntN(8) == 0 {
		a.status = 404
	}
}

// robots fills in the response for a robots.txt, or for the target of its redirect.
func (w *web) robots(s *server, o *site, a *answer) {
	now := time.Now()
	if w.rng.IntN(16) == 0 {
		o.outage = now.Add(time.Duration(w.rng.ExpFloat64() * float64(pick(w.rng, time.Minute, time.Hour, 40*24*time.Hour))))
	}
	a.life = 24 * time.Hour
	if w.rng.IntN(2) == 0 {
		age := pick(w.rng, 0, 0, 61, 100, 3600)
		a.life = max(time.Minute, time.Duration(age)*time.Second)
		a.header.Set("Cache-Control", fmt.Sprintf("max-age=%d", age))
	}
	a.status = 200
	if now.Before(o.outage) {
		a.status = pick(w.rng, 0, 429, 500, 503, 200)
		a.asks = w.rng.IntN(3) == 0 && (a.status == 429 || a.status == 503)
		if a.status == 200 {
			a.cut = pick(w.rng, politeness.CutShort, politeness.CutIdle)
		}
	} else if o.maze {
		w.redirect(s, a)
		w.maze(s, a)
	} else if w.rng.IntN(5) == 0 {
		w.redirect(s, a)
	} else if w.rng.IntN(6) == 0 {
		a.status = pick(w.rng, 401, 403, 404, 410)
	}
	if a.status == 200 {
		if o.file == nil || w.rng.IntN(3) == 0 {
			o.file = w.file()
		}
		a.file, a.body = o.file, o.file.body
	}
}

// file returns a new version of a robots.txt.
func (w *web) file() *robotsFile {
	f := &robotsFile{body: fmt.Sprintf("# version %d\nUser-agent: *\n", len(w.files))}
	for i := range 4 {
		if w.rng.IntN(3) == 0 {
			f.no = append(f.no, fmt.Sprintf("/a%d", i))
			f.body += fmt.Sprintf("Disallow: /a%d\n", i)
		}
	}
	if s := pick(w.rng, 0, 0, 3, 7, 12, 12, 40, 400); s > 0 {
		f.delay = time.Duration(s) * time.Second
		f.body += fmt.Sprintf("Crawl-delay: %d\n", s)
	}
	f.body += strings.Repeat("#\n", w.rng.IntN(40))
	w.files = append(w.files, f)
	return f
}

// redirect fills in a redirect to a certain path of a host or, in one of ten cases, a redirect without a target.
func (w *web) redirect(s *server, a *answer) {
	a.status, a.body, a.file, a.cut, a.asks = pick(w.rng, 301, 302, 307), "", nil, "", false
	if w.rng.IntN(10) > 0 {
		to := pick(w.rng, s, pick(w.rng, w.servers...))
		a.to = fmt.Sprintf("%s://%s/r%d", pick(w.rng, "http", "https"), to.host, w.rng.IntN(9))
		a.header.Set("Location", a.to)
	}
}

// maze fills in a redirect that leads in a circle on one host.
func (w *web) maze(s *server, a *answer) {
	a.to = fmt.Sprintf("https://%s/maze%d", s.host, w.rng.IntN(9))
	a.header.Set("Location", a.to)
}

// rateLimit fills in quotas of which one is used up and the others are not.
func (w *web) rateLimit(a *answer) {
	seconds := pick(w.rng, 0, 1, 7, 40, 200, 4000)
	a.used = time.Duration(seconds) * time.Second
	a.header["Ratelimit"] = []string{fmt.Sprintf(`"day";r=12;t=86000, "odd, one;r=1";pk=:YQ==:;t=%d;r=0`, seconds), `broken, "hour";r=0`}
}

// retryAfter fills in a pause, in seconds or as a date by the server's clock.
func (w *web) retryAfter(s *server, a *answer) {
	seconds := pick(w.rng, 0, 1, 7, 40, 200, 4000)
	a.wait = time.Duration(seconds) * time.Second
	switch w.rng.IntN(8) {
	case 0, 1, 2, 3:
		clock := time.Now().Add(a.took + s.skew).UTC()
		a.dated, a.ahead = true, max(0, s.skew)+time.Second
		a.header.Set("Date", clock.Format(http.TimeFormat))
		a.header.Set("Retry-After", clock.Add(a.wait).Format(http.TimeFormat))
	case 4:
		a.wait = 100 * 365 * 24 * time.Hour // a number too large for most types
		a.header.Set("Retry-After", "99999999999999999999")
	default:
		a.header["Retry-After"] = []string{"0", fmt.Sprint(seconds), "soon"}
	}
}
