package chromium

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"
)

// scripted returns a browser without a process, a function for the commands sent to it, and a page in it with a context "c".
func scripted(t *testing.T) (b *browser, sent func() string, page *tab) {
	t.Helper()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeAll(in, out) })
	b = &browser{
		conn:     &conn{in: in, waiting: map[int64]*mailbox{}},
		contexts: map[cdp.BrowserContextID]*tab{}, sessions: map[target.SessionID]*tab{}, ids: map[string]*tab{},
	}
	page = &tab{b: b, box: newMailbox()}
	b.enter("c", page)
	r := bufio.NewReader(out)
	return b, func() string {
		s, err := r.ReadString(0)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}, page
}

func event(session, method, params string) *message {
	return &message{Session: target.SessionID(session), Method: method, Params: jsonv2.Value(params)}
}

// got returns the methods of the events that wait for a page.
func got(t *tab) string {
	var list []string
	for {
		m, err := t.box.pop()
		if m == nil || err != nil {
			return strings.Join(list, " ")
		}
		list = append(list, m.Method)
	}
}

const pausedRequest = `{"requestId":"r%s","frameId":"%s","request":{"url":"http://a.test/","method":"GET","headers":{}}}`

func TestRequestsFindTheirPage(t *testing.T) {
	b, sent, page := scripted(t)
	ask := func(frame string) {
		b.route(event("", "Fetch.requestPaused", fmt.Sprintf(pausedRequest, frame, frame)))
	}
	attach := func(session, id, kind string) {
		b.route(event(session, "Target.attachedToTarget",
			fmt.Sprintf(`{"sessionId":"s%[1]s","targetInfo":{"targetId":"%[1]s","type":"%[2]s","browserContextId":"c"}}`, id, kind)))
	}
	ask("worker")
	ask("frame")
	ask("page")
	if g := got(page); g != "" {
		t.Errorf("before anything is known: %s", g)
	}
	attach("", "page", "page")
	if g := got(page); g != "Fetch.requestPaused Target.attachedToTarget" {
		t.Errorf("once the page is known: %s", g)
	}
	b.route(event("spage", "Page.frameAttached", `{"frameId":"frame"}`))
	if g := got(page); g != "Fetch.requestPaused" {
		t.Errorf("once the frame is known: %s", g)
	}
	attach("spage", "outer", "worker")
	b.route(event("souter", "Network.requestWillBeSent", `{"requestId":"worker"}`))
	if g := got(page); g != "Target.attachedToTarget Fetch.requestPaused" {
		t.Errorf("once the worker's worker is known: %s", g)
	}
	ask("page")
	ask("worker")
	if g := got(page); g != "Fetch.requestPaused Fetch.requestPaused" {
		t.Errorf("from then on: %s", g)
	}
	ask("stranger")
	b.leave(page)
	ask("page")
	if g := got(page); g != "" {
		t.Errorf("after it has left: %s", g)
	}
	if b.refuseOrphans(time.Now()); len(b.orphans) != 2 {
		t.Errorf("%d requests wait for a page to claim them", len(b.orphans))
	}
	if b.refuseOrphans(time.Now().Add(2 * maxOrphaned)) {
		t.Error("some still wait")
	}
	for _, id := range []string{"rstranger", "rpage"} {
		if s := sent(); !strings.Contains(s, "Fetch.failRequest") || !strings.Contains(s, id) {
			t.Errorf("sent %s, want the end of %s", s, id)
		}
	}
}

func TestOrphansAreBounded(t *testing.T) {
	b, sent, _ := scripted(t)
	for i := range maxOrphans {
		b.route(event("", "Fetch.requestPaused", fmt.Sprintf(pausedRequest, fmt.Sprint(i), fmt.Sprint(i))))
	}
	b.route(event("", "Fetch.requestPaused", fmt.Sprintf(pausedRequest, "last", "last")))
	if s := sent(); !strings.Contains(s, "Fetch.failRequest") || !strings.Contains(s, "rlast") || len(b.orphans) != maxOrphans {
		t.Errorf("sent %s, %d wait", s, len(b.orphans))
	}
}

func TestEventsOfStrangers(t *testing.T) {
	b, _, page := scripted(t)
	b.route(event("unknown", "Page.frameNavigated", `{}`))
	b.route(event("", "Target.attachedToTarget", `{"sessionId":"s","targetInfo":{"targetId":"x","type":"page","browserContextId":"other"}}`))
	b.route(event("s", "Page.frameNavigated", `{}`))
	b.route(event("", "Target.attachedToTarget", `nonsense`))
	b.route(event("", "Fetch.requestPaused", `[]`))
	if g := got(page); g != "" {
		t.Errorf("a page was handed %s", g)
	}
}
