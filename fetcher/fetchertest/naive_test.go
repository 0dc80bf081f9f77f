package fetchertest_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/fetcher/fetchertest"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// naive is a minimal fetcher on net/http that passes the suite. A flaw makes it break a rule on purpose, to show that the
// suite detects the violation.
type naive struct {
	w     *crawltest.Web
	flaws string
}

func (n naive) has(flaw string) bool { return strings.Contains(n.flaws, flaw) }

func (naive) CloseIdle(string) {}

func (n naive) Resolve(ctx context.Context, u weburl.URL) (netip.Addr, error) {
	addrs, err := n.w.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil {
		return netip.Addr{}, err
	}
	return addrs[0], nil
}

// conn is a net.Conn that calls begin before it writes its first byte.
type conn struct {
	net.Conn
	begin func() error
}

func (c *conn) Write(b []byte) (int, error) {
	if c.begin != nil {
		if err := c.begin(); err != nil {
			return 0, err
		}
		c.begin = nil
	}
	return c.Conn.Write(b)
}

func (n naive) Fetch(ctx context.Context, p politeness.Permit) (*fetcher.Page, error) {
	grant, err := p.Redeem()
	if err != nil && !n.has("reuse") {
		return nil, err
	}
	if n.has("deaf") {
		ctx = context.WithoutCancel(ctx)
	}
	if !n.has("patient") {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
	}
	page := &fetcher.Page{URL: p.URL(), Addr: grant.Addr(), Permit: p, Started: time.Now()}
	begin := func() error {
		page.Written = time.Now()
		if err := grant.Begin(); err != nil && !n.has("late") && !n.has("reuse") {
			return err
		}
		return nil
	}
	if n.has("early") {
		if err := begin(); err != nil {
			return nil, err
		}
		begin = nil
	}
	err = n.ask(ctx, page, p.URL(), grant, begin)
	if err != nil && n.has("repeat") {
		err = n.ask(ctx, page, p.URL(), grant, nil)
	}
	if page.Ended = time.Now(); err != nil {
		if n.has("final") {
			return nil, errors.New("no")
		}
		return nil, failed{err}
	}
	return page, nil
}

// failed is a temporary error.
type failed struct{ error }

func (failed) Temporary() bool { return true }

func (n naive) ask(ctx context.Context, page *fetcher.Page, u weburl.URL, grant politeness.Grant, begin func() error) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return err
	}
	if !n.has("agent") {
		req.Header.Set("User-Agent", grant.UserAgent())
	}
	tr := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		addr := grant.Addr()
		if n.has("reuse") {
			addr, _ = n.Resolve(ctx, u)
		}
		c, err := n.w.DialContext(ctx, network, netip.AddrPortFrom(addr, 80).String())
		return &conn{c, begin}, err
	}}
	client := &http.Client{Transport: tr}
	if !n.has("follow") {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	page.FirstByte, page.Status, page.Header = time.Now(), resp.StatusCode, resp.Header
	if n.has("picky") && resp.StatusCode >= 400 {
		return errors.New(resp.Status)
	}
	page.ContentType, _, _ = strings.Cut(strings.ToLower(resp.Header.Get("Content-Type")), ";")
	page.Body, err = io.ReadAll(resp.Body)
	if err != nil && !n.has("whole") {
		page.Truncated = fetcher.ReasonCutShort
	}
	return nil
}

func TestNaive(t *testing.T) {
	fetchertest.Run(t, func(_ *testing.T, w *crawltest.Web) fetchertest.Fetcher {
		return naive{w, os.Getenv("FLAW")}
	})
}

// TestFlawsAreFound checks that each flaw fails the clause that it violates.
func TestFlawsAreFound(t *testing.T) {
	for flaw, clause := range map[string]string{
		"reuse": "C1_a_permit", "agent": "C2_one_GET", "follow": "C2_redirects", "repeat": "C2_nothing", "early": "C3_begun",
		"late": "C3_nothing_is_sent_when_it", "picky": "C4_every", "whole": "C4_a_body", "final": "C5", "patient": "C6", "deaf": "C7",
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestNaive$", "-test.timeout=60s")
		cmd.Env = append(os.Environ(), "FLAW="+flaw)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "--- FAIL: TestNaive/"+clause) && flaw != "patient" {
			t.Errorf("%s: %v\n%s", flaw, err, out)
		}
	}
}
