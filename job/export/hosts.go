package export

import (
	"encoding/binary"
	"iter"
	"strings"

	"github.com/amble-crawler/amble/internal/extsort"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// Figures of a host, in the order of its columns.
const (
	hostVisits = iota
	hostFetched
	hostRedirected
	hostRefused
	hostOutOfScope
	hostDeferred
	hostFailed
	hostTrapped
	hostDuplicate
	hostNotModified
	host2xx
	host3xx
	host4xx
	host5xx
	hostBytes
	hostDepth
	hostRequests
	hostRobots
	hostRetries
	hostUnsent
	hostNoAnswer
	hostTooMany
	hostWalls
	hostReceived
	hostServer // microseconds
	hostPause  // likewise
	hostOwed   // likewise
	hostFirst  // microseconds since 1970
	hostLast   // likewise
	hostFigures
)

// outcomes are the outcomes of visits by their figure.
var outcomes = map[string]int{
	"fetched": hostFetched, "redirected": hostRedirected, "refused": hostRefused, "out_of_scope": hostOutOfScope, "deferred": hostDeferred,
	"failed": hostFailed, "trapped": hostTrapped, "duplicate": hostDuplicate, "not_modified": hostNotModified,
}

// host is a row of hosts.
type host struct {
	name    string // host:port
	figures [hostFigures]int64
}

// add adds the figures of another part of the same host.
func (h *host) add(f *[hostFigures]int64) {
	for i, n := range f {
		switch i {
		case hostDepth, hostLast:
			h.figures[i] = max(h.figures[i], n)
		case hostFirst:
			if h.figures[i] == 0 || n != 0 && n < h.figures[i] {
				h.figures[i] = n
			}
		default:
			h.figures[i] += n
		}
	}
}

// Hosts returns the table of hosts.
func Hosts() *Table {
	return tableOf("hosts", "a host, by name: what was visited, what was requested and how long the pauses were", hosts, hostFields())
}

func hostFields() []field[*host] {
	n := func(name, doc string, figure int) field[*host] {
		return field[*host]{Column{name, Int, doc}, func(h *host) Value { return number(h.figures[figure]) }}
	}
	s := func(name, doc string, figure int) field[*host] {
		return field[*host]{Column{name, Float, doc}, func(h *host) Value { return Value{Valid: true, Float: float64(h.figures[figure]) / 1e6} }}
	}
	at := func(name, doc string, figure int) field[*host] {
		return field[*host]{Column{name, Time, doc}, func(h *host) Value { return Value{Valid: h.figures[figure] != 0, Int: h.figures[figure]} }}
	}
	return []field[*host]{
		{Column{"host", Text, "host:port, always with the port"}, func(h *host) Value { return text(h.name) }},
		n("visits", "URLs with an outcome", hostVisits),
		n("fetched", "of them, with an answer that is no redirect", hostFetched),
		n("redirected", "redirects", hostRedirected),
		n("refused", "forbidden by a rule", hostRefused),
		n("out_of_scope", "seeds and targets of redirects outside the scope", hostOutOfScope),
		n("deferred", "not available in this crawl, or over a budget", hostDeferred),
		n("failed", "without a usable answer", hostFailed),
		n("trapped", "that look like an endless space", hostTrapped),
		n("duplicate", "with the same body as too many others", hostDuplicate),
		n("not_modified", "as an earlier crawl knows them", hostNotModified),
		n("status_2xx", "visits whose answer had a status 200 to 299", host2xx),
		n("status_3xx", "300 to 399", host3xx),
		n("status_4xx", "400 to 499", host4xx),
		n("status_5xx", "500 to 599", host5xx),
		n("bytes", "bytes of the decoded bodies of visits", hostBytes),
		n("depth", "of the deepest fetched page", hostDepth),
		n("requests", "requests that were sent, robots.txt included", hostRequests),
		n("robots_requests", "of them, for a robots.txt", hostRobots),
		n("retries", "of them, further attempts at a URL", hostRetries),
		n("unsent", "attempts of which no byte was sent", hostUnsent),
		n("no_answer", "requests without an answer, or without an end", hostNoAnswer),
		n("answers_429", "answers with status 429, all attempts counted", hostTooMany),
		n("walls", "answers that are a challenge of a bot wall, robots.txt included", hostWalls),
		n("received", "bytes of bodies, as received", hostReceived),
		s("server_s", "seconds from the beginnings of requests to their ends", hostServer),
		s("pause_s", "seconds between requests of one process", hostPause),
		s("owed_s", "seconds of them that were owed to the host", hostOwed),
		at("first", "the first request", hostFirst),
		at("last", "the end of the last request", hostLast),
	}
}

// maxHosts limits the hosts that are summed up in memory.
const maxHosts = 50_000

// hosts sums up visits and requests by host. Parts of hosts that do not fit into memory are sorted and put together.
func hosts(x *Export) iter.Seq2[*host, error] {
	return func(yield func(*host, error) bool) {
		s := &summer{known: map[string]*[hostFigures]int64{}, sorter: extsort.New(x.Temp, 0)}
		defer func() { _ = s.sorter.Close() }() // a temporary file
		if err := s.read(x); err != nil {
			yield(nil, err)
			return
		}
		var h *host
		for b, err := range s.sorter.All() {
			if err != nil {
				yield(nil, err)
				return
			}
			name, figures := decodeHost(b)
			if h != nil && h.name != name {
				if !yield(h, nil) {
					return
				}
				h = nil
			}
			if h == nil {
				h = &host{name: name}
			}
			h.add(figures)
		}
		if h != nil {
			yield(h, nil)
		}
	}
}

// summer sums up by host.
type summer struct {
	known  map[string]*[hostFigures]int64
	sorter *extsort.Sorter
}

func (s *summer) read(x *Export) error {
	for v, err := range x.Visits() {
		if err != nil {
			return err
		}
		if err := s.visit(v); err != nil {
			return err
		}
	}
	for r, err := range x.Requests() {
		if err != nil {
			return err
		}
		if err := s.request(r); err != nil {
			return err
		}
	}
	return s.flush()
}

// of returns the figures of a host.
func (s *summer) of(name string) (*[hostFigures]int64, error) {
	if f := s.known[name]; f != nil {
		return f, nil
	}
	if len(s.known) >= maxHosts {
		if err := s.flush(); err != nil {
			return nil, err
		}
	}
	f := new([hostFigures]int64)
	s.known[strings.Clone(name)] = f
	return f, nil
}

func (s *summer) flush() error {
	for name, f := range s.known {
		if err := s.sorter.Add(encodeHost(name, f)); err != nil {
			return err
		}
	}
	clear(s.known)
	return nil
}

// encodeHost returns a record that sorts by the host's name.
func encodeHost(name string, f *[hostFigures]int64) []byte {
	b := append([]byte(name), 0)
	for _, n := range f {
		b = binary.AppendVarint(b, n)
	}
	return b
}

func decodeHost(b []byte) (name string, f *[hostFigures]int64) {
	f = new([hostFigures]int64)
	head, rest, _ := strings.Cut(string(b), "\x00")
	at := []byte(rest)
	for i := range f {
		n, size := binary.Varint(at)
		f[i], at = n, at[max(0, size):]
	}
	return head, f
}

func (s *summer) visit(v *sink.Record) error {
	u, err := weburl.Parse(v.URL)
	if err != nil {
		return nil //nolint:nilerr // a seed that is no URL belongs to no host
	}
	f, err := s.of(u.Host())
	if err != nil {
		return err
	}
	f[hostVisits]++
	if i, known := outcomes[v.Outcome]; known {
		f[i]++
	}
	if class := v.Status / 100; class >= 2 && class <= 5 {
		f[host2xx+class-2]++
	}
	f[hostBytes] += int64(v.Bytes)
	if v.Outcome == "fetched" {
		f[hostDepth] = max(f[hostDepth], int64(v.Depth))
	}
	return nil
}

func (s *summer) request(r *Request) error {
	if r.Start.Host == "" {
		return nil
	}
	f, err := s.of(r.Start.Host)
	if err != nil {
		return err
	}
	if r.Start.Event == "unsent" {
		f[hostUnsent]++
		return nil
	}
	h := &host{figures: *f}
	one := &[hostFigures]int64{hostRequests: 1, hostFirst: r.Start.Written.UnixMicro(), hostReceived: r.End.Bytes, hostPause: r.Pause.Microseconds(), hostOwed: min(r.Pause, r.Owed).Microseconds()}
	flags := map[int]bool{hostRobots: r.Start.Purpose == "robots", hostRetries: r.Start.Attempt > 0, hostNoAnswer: r.End.Status == 0, hostTooMany: r.End.Status == 429, hostWalls: r.End.Wall != ""}
	for i, is := range flags {
		if is {
			one[i] = 1
		}
	}
	if !r.End.Ended.IsZero() {
		one[hostLast] = r.End.Ended.UnixMicro()
		one[hostServer] = max(0, r.End.Ended.Sub(r.Start.Written).Microseconds())
	}
	h.add(one)
	*f = h.figures
	return nil
}
