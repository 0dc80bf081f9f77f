package chromium

import (
	"bufio"
	"errors"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"

	"github.com/amble-crawler/amble/render"
)

// reading returns a conn that reads from r, and the methods of the events that it has delivered.
func reading(r io.Reader) (c *conn, events *[]string) {
	events = &[]string{}
	return &conn{
		out: bufio.NewReaderSize(r, 64<<10), waiting: map[int64]*mailbox{},
		event: func(m *message) { *events = append(*events, m.Method) },
	}, events
}

func TestMessages(t *testing.T) {
	box := newMailbox()
	c, events := reading(strings.NewReader(strings.Join([]string{
		`{"method":"first"}`, `nonsense`, ``, `{"id":1,"result":{"a":1}}`, `{"id":99,"result":{}}`,
		`{"method":"long","params":"` + strings.Repeat("x", maxEvent) + `"}`,
		`{"method":"lone","params":{"text":"\ud800"}}`, `{"id":2,"error":{"code":-1,"message":"no"}}`, `{"method":"cut off"`,
	}, "\x00")))
	c.waiting[1], c.waiting[2], c.waiting[3] = box, box, newMailbox()
	last := c.waiting[3]
	c.read()
	if got := strings.Join(*events, " "); got != "first lone" {
		t.Errorf("events %q", got)
	}
	one, err := box.pop()
	if err != nil || one.ID != 1 || string(one.Result) != `{"a":1}` {
		t.Errorf("%+v, %v", one, err)
	}
	two, err := box.pop()
	if err != nil || two.ID != 2 || two.Error.Error() != "no (-1)" {
		t.Errorf("%+v, %v", two, err)
	}
	if _, err := last.pop(); !errors.Is(err, errCrashed) {
		t.Errorf("who still waits is told %v", err)
	}
	if _, err := c.register(nil); !errors.Is(err, errCrashed) {
		t.Errorf("a command after the end: %v", err)
	}
}

// xs is a reader of this many letters x.
type xs int

func (x *xs) Read(b []byte) (int, error) {
	if *x == 0 {
		return 0, io.EOF
	}
	n := min(len(b), int(*x))
	for i := range n {
		b[i] = 'x'
	}
	*x -= xs(n)
	return n, nil
}

func TestLongReply(t *testing.T) {
	body := xs(maxReply)
	box := newMailbox()
	c, _ := reading(io.MultiReader(strings.NewReader(`{"id":7,"result":"`), &body, strings.NewReader("\"}\x00")))
	c.waiting[7] = box
	c.read()
	if m, err := box.pop(); err != nil || m.ID != 7 || m.Error == nil {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestMailboxIsBounded(t *testing.T) {
	box := newMailbox()
	for range maxQueued {
		box.push(&message{Method: "m"})
	}
	if m, err := box.pop(); m == nil || err != nil {
		t.Errorf("%v, %v", m, err)
	}
	box.push(&message{Method: "m"})
	box.push(&message{Method: "one too many"})
	if _, err := box.pop(); !errors.Is(err, errFlood) {
		t.Errorf("%v", err)
	}
	box = newMailbox()
	for range 10 {
		box.push(&message{Params: make([]byte, maxQueuedBytes/8)})
	}
	if _, err := box.pop(); !errors.Is(err, errFlood) {
		t.Errorf("by bytes: %v", err)
	}
}

func TestKind(t *testing.T) {
	for _, c := range []struct {
		kind   network.ResourceType
		header network.Headers
		prio   network.ResourcePriority
		want   render.Kind
	}{
		{network.ResourceTypeScript, nil, "High", render.KindScript},
		{network.ResourceTypeXHR, network.Headers{"Accept": "*/*"}, "High", render.KindFetch},
		{network.ResourceTypeXHR, network.Headers{"accept": "text/event-stream"}, "High", render.KindEvents},
		{network.ResourceTypeScript, network.Headers{"sec-purpose": "prefetch"}, "High", render.KindPrefetch},
		{network.ResourceTypeFetch, network.Headers{"Purpose": "prefetch"}, "High", render.KindPrefetch},
		{network.ResourceTypeScript, network.Headers{"Service-Worker": "script"}, "High", render.KindOther},
		{network.ResourceTypeOther, network.Headers{"Accept": "*/*"}, network.ResourcePriorityVeryLow, render.KindWorker},
		{network.ResourceTypeOther, network.Headers{"Accept": "*/*"}, "High", render.KindFetch},
		{network.ResourceTypeOther, network.Headers{"Accept": "application/json,*/*;q=0.5"}, "High", render.KindScript},
		{network.ResourceTypeOther, network.Headers{"Accept": "image/avif,*/*"}, "VeryLow", render.KindIcon},
		{network.ResourceTypeOther, network.Headers{"Accept": "text/x"}, "High", render.KindOther},
		{network.ResourceTypeSignedExchange, nil, "High", render.KindOther},
		{network.ResourceTypePing, nil, "High", render.KindBeacon},
		{"TypeToCome", network.Headers{"Accept": "*/*"}, "VeryLow", render.KindOther},
	} {
		e := &fetch.EventRequestPaused{ResourceType: c.kind, Request: &network.Request{Headers: c.header, InitialPriority: c.prio}}
		if got := kind(e); got != c.want {
			t.Errorf("%s %v: %s, want %s", c.kind, c.header, got, c.want)
		}
	}
}

func TestHeaderBlock(t *testing.T) {
	h := http.Header{"B": {"2", "3\x00"}, "A": {"1\xe9"}, "C\nD": {"x"}, "E": {"a\r\nb: c"}, "": {"x"}}
	if got, want := string(headerBlock(h)), "A: 1\xe9\x00B: 2\x00"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestDocumentHeader(t *testing.T) {
	h := http.Header{}
	for _, k := range withheld {
		h.Set(k, "x")
	}
	h.Set("Content-Disposition", "attachment")
	h.Set("Content-Type", "text/html")
	h["lower"] = []string{"kept"}
	got := document200(&render.Answer{Status: 200, Header: h}).Header
	if len(got) != 2 || got.Get("Content-Type") != "text/html" || got.Get("Lower") != "kept" {
		t.Errorf("%v", got)
	}
}

// When the page's clock stops, no timer of the page is due, and the browser's rounding does not turn the time into another whole number.
func TestEndsOfSlices(t *testing.T) {
	const tenth = 0.1
	var ends []float64
	now := 0.0
	for slice := 1; now < float64(render.MaxVirtual.Milliseconds())+sliceLength; slice++ {
		now += budget(slice)
		if math.Floor(now-tenth+0.11) != math.Floor(now) || math.Floor(now+tenth+0.11) != math.Floor(now) {
			t.Errorf("slice %d ends at %v, which may be rounded to another number", slice, now)
		}
		for _, e := range append(ends, 0) {
			if d := now - e; math.Abs(d-math.Round(d)) < 0.01 {
				t.Errorf("from %v to %v is a whole number", e, now)
			}
		}
		ends = append(ends, now)
	}
	if len(ends) < 40 {
		t.Errorf("%d slices", len(ends))
	}
}
