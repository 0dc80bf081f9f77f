package export

import (
	"encoding/binary"
	"iter"
	"strings"

	"github.com/amble-crawler/amble/internal/extsort"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// host is a row of the table of hosts.
type host struct {
	name    string  // host:port
	figures []int64 // in the order of hostColumns
}

// hostColumn is a column of the table of hosts, with the contribution of each visit and each
// request of a host. Seconds are stored as microseconds, and times as microseconds since 1970.
type hostColumn struct {
	Column
	visit   func(v *sink.Record) int64
	request func(r *Request) int64
	join    func(a, b int64) int64 // combines two values; nil: their sum
}

var hostColumns = []hostColumn{
	ofVisits("visits", "URLs with an outcome", func(*sink.Record) bool { return true }),
	ofOutcome("fetched", "of them, with an answer that is no redirect"),
	ofOutcome("redirected", "redirects"),
	ofOutcome("refused", "forbidden by a rule"),
	ofOutcome("out_of_scope", "seeds and targets of redirects outside the scope"),
	ofOutcome("deferred", "not available in this crawl, or over a budget"),
	ofOutcome("failed", "without a usable answer"),
	ofOutcome("trapped", "that look like an endless space"),
	ofOutcome("duplicate", "with the same body as too many others"),
	ofOutcome("not_modified", "as an earlier crawl knows them"),
	ofVisits("status_2xx", "visits whose answer had a status 200 to 299", func(v *sink.Record) bool { return v.Status/100 == 2 }),
	ofVisits("status_3xx", "300 to 399", func(v *sink.Record) bool { return v.Status/100 == 3 }),
	ofVisits("status_4xx", "400 to 499", func(v *sink.Record) bool { return v.Status/100 == 4 }),
	ofVisits("status_5xx", "500 to 599", func(v *sink.Record) bool { return v.Status/100 == 5 }),
	{Column: Column{"bytes", Int, "bytes of the decoded bodies of visits"}, visit: func(v *sink.Record) int64 { return int64(v.Bytes) }},
	{Column: Column{"depth", Int, "of the deepest fetched page"}, join: larger, visit: func(v *sink.Record) int64 {
		if v.Outcome != "fetched" {
			return 0
		}
		return int64(v.Depth)
	}},
	ofRequests("requests", "requests that were sent, robots.txt included", isSent),
	ofRequests("robots_requests", "of them, for a robots.txt", func(r *Request) bool { return isSent(r) && r.Start.Purpose == "robots" }),
	ofRequests("retries", "of them, further attempts at a URL", func(r *Request) bool { return isSent(r) && r.Start.Attempt > 0 }),
	ofRequests("unsent", "attempts of which no byte was sent", func(r *Request) bool { return !isSent(r) }),
	ofRequests("no_answer", "requests without an answer, or without an end", func(r *Request) bool { return isSent(r) && r.End.Status == 0 }),
	ofRequests("answers_429", "answers with status 429, all attempts counted", func(r *Request) bool { return r.End.Status == 429 }),
	ofRequests("walls", "answers that are a challenge of a bot wall, robots.txt included", func(r *Request) bool { return r.End.Wall != "" }),
	{Column: Column{"received", Int, "bytes of bodies, as received"}, request: func(r *Request) int64 { return r.End.Bytes }},
	{Column: Column{"server_s", Float, "seconds from the beginnings of requests to their ends"}, request: func(r *Request) int64 {
		return max(0, r.End.Ended.Sub(r.Start.Written).Microseconds()) // 0 for a request without an end
	}},
	{Column: Column{"pause_s", Float, "seconds between requests of one process"}, request: func(r *Request) int64 { return r.Pause.Microseconds() }},
	{Column: Column{"owed_s", Float, "seconds of them that were owed to the host"}, request: func(r *Request) int64 { return min(r.Pause, r.Owed).Microseconds() }},
	{Column: Column{"first", Time, "the first request"}, join: earlier, request: func(r *Request) int64 {
		if !isSent(r) {
			return 0
		}
		return r.Start.Written.UnixMicro()
	}},
	{Column: Column{"last", Time, "the end of the last request"}, join: larger, request: func(r *Request) int64 { return r.End.Ended.UnixMicro() }},
}

// ofVisits returns a column that counts visits.
func ofVisits(name, doc string, counts func(v *sink.Record) bool) hostColumn {
	return hostColumn{Column: Column{name, Int, doc}, visit: func(v *sink.Record) int64 { return boolean(counts(v)).Int }}
}

// ofOutcome returns a column that counts the visits with the outcome of the same name.
func ofOutcome(name, doc string) hostColumn {
	return ofVisits(name, doc, func(v *sink.Record) bool { return v.Outcome == name })
}

// ofRequests returns a column that counts requests.
func ofRequests(name, doc string, counts func(r *Request) bool) hostColumn {
	return hostColumn{Column: Column{name, Int, doc}, request: func(r *Request) int64 { return boolean(counts(r)).Int }}
}

// isSent reports whether a byte of a request was sent.
func isSent(r *Request) bool { return r.Start.Event != ledger.Unsent }

// earlier returns the smaller number; 0 means none.
func earlier(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

func larger(a, b int64) int64 { return max(a, b) }

// add adds n to a figure in this column.
func (c *hostColumn) add(to *int64, n int64) {
	if c.join != nil {
		*to = c.join(*to, n)
	} else {
		*to += n
	}
}

// Hosts returns the table of hosts.
func Hosts() *Table {
	fields := []field[*host]{{Column{"host", Text, "host:port, always with the port"}, func(h *host) Value { return text(h.name) }}}
	for i := range hostColumns {
		fields = append(fields, field[*host]{hostColumns[i].Column, func(h *host) Value {
			n := h.figures[i]
			switch hostColumns[i].Type {
			case Float:
				return Value{Valid: true, Float: float64(n) / 1e6}
			case Time:
				return Value{Valid: n != 0, Int: n}
			}
			return number(n)
		}})
	}
	return tableOf("hosts", "a host, by name: what was visited, what was requested and how long the pauses were", hosts, fields)
}

// maxHosts limits the hosts whose sums are in memory.
const maxHosts = 50_000

// hosts sums up visits and requests by host. Hosts that do not fit into memory are sorted on disk in parts, which are merged.
func hosts(x *Export) iter.Seq2[*host, error] {
	return func(yield func(*host, error) bool) {
		s := &hostSummer{known: map[string][]int64{}, sorter: extsort.New(x.Temp, 0)}
		defer func() { _ = s.sorter.Close() }() // a temporary file: an error of closing does no harm
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
			if h == nil || h.name != name {
				if h != nil && !yield(h, nil) {
					return
				}
				h = &host{name, make([]int64, len(hostColumns))}
			}
			for i := range hostColumns {
				hostColumns[i].add(&h.figures[i], figures[i])
			}
		}
		if h != nil {
			yield(h, nil)
		}
	}
}

// hostSummer computes the sums of each host.
type hostSummer struct {
	known  map[string][]int64
	sorter *extsort.Sorter
}

func (s *hostSummer) read(x *Export) error {
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
func (s *hostSummer) of(name string) ([]int64, error) {
	if f := s.known[name]; f != nil {
		return f, nil
	}
	if len(s.known) >= maxHosts {
		if err := s.flush(); err != nil {
			return nil, err
		}
	}
	f := make([]int64, len(hostColumns))
	s.known[strings.Clone(name)] = f
	return f, nil
}

func (s *hostSummer) flush() error {
	for name, f := range s.known {
		if err := s.sorter.Add(encodeHost(name, f)); err != nil {
			return err
		}
	}
	clear(s.known)
	return nil
}

// encodeHost returns a record that sorts by the host's name.
func encodeHost(name string, f []int64) []byte {
	b := append([]byte(name), 0)
	for _, n := range f {
		b = binary.AppendVarint(b, n)
	}
	return b
}

func decodeHost(b []byte) (name string, f []int64) {
	f = make([]int64, len(hostColumns))
	head, rest, _ := strings.Cut(string(b), "\x00")
	at := []byte(rest)
	for i := range f {
		n, size := binary.Varint(at)
		f[i], at = n, at[max(0, size):]
	}
	return head, f
}

func (s *hostSummer) visit(v *sink.Record) error {
	u, err := weburl.Parse(v.URL)
	if err != nil {
		return nil //nolint:nilerr // a seed that is no URL belongs to no host
	}
	f, err := s.of(u.Host())
	if err != nil {
		return err
	}
	for i := range hostColumns {
		if c := &hostColumns[i]; c.visit != nil {
			c.add(&f[i], c.visit(v))
		}
	}
	return nil
}

func (s *hostSummer) request(r *Request) error {
	if r.Start.Host == "" {
		return nil
	}
	f, err := s.of(r.Start.Host)
	if err != nil {
		return err
	}
	for i := range hostColumns {
		if c := &hostColumns[i]; c.request != nil {
			c.add(&f[i], c.request(r))
		}
	}
	return nil
}
