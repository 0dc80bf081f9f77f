package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/politeness"
)

// watched returns the contents of stderr after a crawl was watched for d.
func watched(t *testing.T, f outputFlags, tty bool, d time.Duration) string {
	a, _, errs := testApp(nil)
	c, err := crawler.New(crawler.Config{})
	if err != nil {
		t.Fatal(err)
	}
	u := newUI(a, f)
	u.tty = tty
	stop := u.watch(c, &crawler.Config{}, nil)
	time.Sleep(d)
	stop()
	return errs.String()
}

func TestLogLineEvery30SecondsOffATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := watched(t, outputFlags{LogFormat: "text"}, false, 65*time.Second)
		if n := strings.Count(out, "msg=progress pages=0 rate=0.0/s hosts_active=0 hosts_waiting=0 queued=0 refused=0 deferred=0 errors=0 next=0s eta=?\n"); n != 2 {
			t.Errorf("%d lines in 65 s: %s", n, out)
		}
		out = watched(t, outputFlags{LogFormat: "json"}, false, 31*time.Second)
		if !strings.Contains(out, `"msg":"progress","pages":0,"rate":"0.0/s"`) {
			t.Errorf("in JSON: %s", out)
		}
		if out = watched(t, outputFlags{Quiet: true}, false, time.Hour); out != "" {
			t.Errorf("with -q: %s", out)
		}
	})
}

func TestStatusAtMost5TimesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := watched(t, outputFlags{}, true, 10*time.Second)
		if n := strings.Count(out, "\r\x1b[K0 pages"); n < 40 || n > 50 {
			t.Errorf("%d times in 10 s", n)
		}
		if !strings.HasSuffix(out, "\r\x1b[K") {
			t.Errorf("the line still stands: %q", out[len(out)-20:])
		}
	})
}

func TestNotesTakeTheStatusLineAway(t *testing.T) {
	a, _, errs := testApp(nil)
	u := newUI(a, outputFlags{})
	u.draw("status")
	u.tell("hello %d", 1)
	u.tell("again")
	if want := "\r\x1b[Kstatus\r\x1b[Kamble: hello 1\namble: again\n"; errs.String() != want {
		t.Errorf("%q, want %q", errs, want)
	}
}

// If a delay is raised for other people's hosts, that is printed where nobody sees the line at the beginning.
func TestRaisedDelayIsTold(t *testing.T) {
	const told = "amble: --delay 10ms is for hosts of your own (--own-hosts): all others are given 100ms\n"
	own := func(host string) int {
		if host == "own.test:80" {
			return 1
		}
		return 0
	}
	for _, c := range []struct {
		name  string
		delay time.Duration
		seeds []string
		flags outputFlags
		want  string
	}{
		{"raised", 10 * time.Millisecond, []string{"http://127.0.0.1/", "http://a.test/"}, outputFlags{}, told},
		{"default", 0, []string{"http://a.test/"}, outputFlags{}, ""},
		{"none", crawler.None, []string{"http://a.test/"}, outputFlags{}, strings.Replace(told, "10ms", "0s", 1)},
		{"long enough", politeness.MinDelay, []string{"http://a.test/"}, outputFlags{}, ""},
		{"loopback", 10 * time.Millisecond, []string{"http://127.0.0.1/", "http://localhost/"}, outputFlags{}, ""},
		{"own", 10 * time.Millisecond, []string{"http://own.test/"}, outputFlags{}, ""},
		{"quiet", 10 * time.Millisecond, []string{"http://a.test/"}, outputFlags{Quiet: true}, ""},
	} {
		a, _, errs := testApp(nil)
		urls, err := parseURLs("seed", c.seeds)
		if err != nil {
			t.Fatal(err)
		}
		newUI(a, c.flags).begin(&crawlJob{seeds: urls, cfg: crawler.Config{Politeness: politeness.Config{Delay: c.delay, OwnHosts: own}}})
		if got := errs.String(); got != c.want {
			t.Errorf("%s: said %q, want %q", c.name, got, c.want)
		}
	}
}
