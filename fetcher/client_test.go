package fetcher_test

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// withClient runs a test of a Client on a simulated web, in virtual time.
func withClient(t *testing.T, test func(t *testing.T, w *crawltest.Web, c *fetcher.Client)) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		f, err := fetcher.New(fetcher.Config{DialContext: w.DialContext, Resolver: w})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		gate, err := politeness.NewGate(politeness.Config{
			Identity: politeness.Identity{Product: "ambletest", Version: "1", Contact: "https://lab.university.edu/crawl"},
		})
		if err != nil {
			t.Fatal(err)
		}
		test(t, w, &fetcher.Client{Gate: gate, Fetcher: f})
	})
}

func url(t *testing.T, s string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestWallIsRecognizedWhateverTheFetcher checks that a Client reports a bot wall for any Fetcher. A response that
// requests a signature is not a bot wall.
func TestWallIsRecognizedWhateverTheFetcher(t *testing.T) {
	withClient(t, func(t *testing.T, w *crawltest.Web, c *fetcher.Client) {
		s := w.Site("http://a.example")
		s.Page("/wall", "").Header("X-Amzn-Waf-Action", "challenge")
		s.Page("/signed", "").Header("X-Amzn-Waf-Action", "challenge")
		s.Page("/", "hello").Header("Server", "cloudflare")
		for path, want := range map[string]string{"/wall": "AWS WAF", "/": ""} {
			page, err := c.Get(t.Context(), url(t, s.URL(path)), politeness.Page)
			if err != nil || page.Wall != want || page.Reply().Wall != want {
				t.Errorf("%s: %q, %v", path, page.Wall, err)
			}
		}
		signing := signed{c.Fetcher}
		c.Fetcher = signing
		if page, err := c.Get(t.Context(), url(t, s.URL("/signed")), politeness.Page); err != nil || page.Wall != "" {
			t.Errorf("an answer that requests a signature: %q, %v", page.Wall, err)
		}
	})
}

// signed is a Fetcher whose responses all request a signature.
type signed struct {
	inner interface {
		Resolve(ctx context.Context, u weburl.URL) (netip.Addr, error)
		Fetch(ctx context.Context, p politeness.Permit) (*fetcher.Page, error)
	}
}

func (s signed) Resolve(ctx context.Context, u weburl.URL) (netip.Addr, error) {
	return s.inner.Resolve(ctx, u)
}

func (s signed) Fetch(ctx context.Context, p politeness.Permit) (*fetcher.Page, error) {
	page, err := s.inner.Fetch(ctx, p)
	if page != nil {
		page.Challenged = true
	}
	return page, err
}

func TestTryMakesOneStep(t *testing.T) {
	withClient(t, func(t *testing.T, w *crawltest.Web, c *fetcher.Client) {
		s := w.Site("http://a.example")
		s.Robots("User-agent: *\nDisallow: /private\n")
		s.Page("/", "hello")
		var admitted []string
		c.Admitted = func(_ context.Context, u weburl.URL, p politeness.Permit) {
			admitted = append(admitted, u.Path()+" "+p.Purpose().String())
		}
		u := url(t, s.URL("/"))
		a, err := c.Try(t.Context(), politeness.Request{URL: u})
		if err != nil || a.Permit.Purpose() != politeness.Robots || a.Page.Status != 200 || !a.Ready.After(time.Now()) {
			t.Fatalf("%+v, %v", a, err)
		}
		var wait *politeness.NotYet
		if _, err := c.Try(t.Context(), politeness.Request{URL: u}); !errors.As(err, &wait) || !wait.Until.Equal(a.Ready) {
			t.Fatalf("%v, ready %v", err, a.Ready)
		}
		time.Sleep(time.Until(a.Ready))
		if a, err = c.Try(t.Context(), politeness.Request{URL: u}); err != nil || string(a.Page.Body) != "hello" {
			t.Fatalf("%+v, %v", a, err)
		}
		var denied *politeness.Denied
		if _, err := c.Try(t.Context(), politeness.Request{URL: url(t, s.URL("/private"))}); !errors.As(err, &denied) {
			t.Fatal(err)
		}
		if len(admitted) != 2 || admitted[0] != "/ robots" || admitted[1] != "/ page" {
			t.Errorf("%q", admitted)
		}
	})
}

// Each request's end must be reported, or its Permit would block the host for good.
func TestEveryPermitIsReported(t *testing.T) {
	withClient(t, func(t *testing.T, w *crawltest.Web, c *fetcher.Client) {
		s := w.Site("http://a.example")
		s.Page("/reset", "").Fault(crawltest.Reset())
		s.Page("/hang", "").Fault(crawltest.Hang())
		s.Page("/", "hello")
		if _, err := c.Get(t.Context(), url(t, s.URL("/reset")), politeness.Page); fetcher.ReasonOf(err) != "reset" {
			t.Errorf("reset: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if _, err := c.Get(ctx, url(t, s.URL("/hang")), politeness.Page); err == nil {
			t.Error("a page of a server that hangs")
		}
		began := time.Now()
		page, err := c.Get(t.Context(), url(t, s.URL("/")), politeness.Page)
		if err != nil || string(page.Body) != "hello" || time.Since(began) > time.Minute {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

func TestFailedLookupCountsAgainstHost(t *testing.T) {
	withClient(t, func(t *testing.T, w *crawltest.Web, c *fetcher.Client) {
		w.Site("http://slow.example").Fault(crawltest.DNSFailure())
		w.Site("http://none.example").Fault(crawltest.NXDomain())
		for host, temporary := range map[string]bool{"slow": true, "none": false} {
			u := url(t, "http://"+host+".example/")
			_, err := c.Try(t.Context(), politeness.Request{URL: u})
			var lookup *fetcher.LookupError
			if !errors.As(err, &lookup) || lookup.Ready.IsZero() == temporary || lookup.URL != u.RobotsURL() {
				t.Errorf("%s: %+v", host, err)
			}
			if n := c.Gate.Origin(u).Failures; (n == 1) != temporary {
				t.Errorf("%s: %d failures", host, n)
			}
		}
	})
}

// Rules are not used if storing their file failed.
func TestRobotsThatAreNotKeptAreNotUsed(t *testing.T) {
	withClient(t, func(t *testing.T, w *crawltest.Web, c *fetcher.Client) {
		s := w.Site("http://a.example")
		s.Robots("User-agent: *\nAllow: /\n")
		full := errors.New("disk full")
		c.KeepRobots = func(*fetcher.Page) error { return full }
		u := url(t, s.URL("/"))
		if _, err := c.Try(t.Context(), politeness.Request{URL: u}); !errors.Is(err, full) || !errors.Is(err, fetcher.ErrKeepRobots) {
			t.Fatal(err)
		}
		if info := c.Gate.Origin(u); info.Known {
			t.Errorf("%+v", info)
		}
		c.KeepRobots = nil
		if info, err := c.Robots(t.Context(), u); err != nil || !info.Known || w.Count(s.URL("/robots.txt")) != 2 {
			t.Errorf("%+v, %v after %d requests", info, err, w.Count(s.URL("/robots.txt")))
		}
	})
}

func TestRobotsFollowsRedirectsAndRequestsNoPage(t *testing.T) {
	withClient(t, func(t *testing.T, w *crawltest.Web, c *fetcher.Client) {
		s := w.Site("http://a.example")
		s.Redirect("/robots.txt", "/other.txt")
		s.Page("/other.txt", "User-agent: *\nDisallow: /\n").Type("text/plain")
		info, err := c.Robots(t.Context(), url(t, s.URL("/")))
		if err != nil || info.Rules == nil || w.Count(s.URL("/")) != 0 {
			t.Errorf("%+v, %v", info, err)
		}
		down := w.Site("http://b.example")
		down.Page("/robots.txt", "").Status(503)
		if info, err = c.Robots(t.Context(), url(t, down.URL("/"))); err != nil || !info.Unreachable || info.Source.Status != 503 {
			t.Errorf("%+v, %v", info, err)
		}
	})
}
