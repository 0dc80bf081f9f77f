package view

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/cmd/amble/internal/terminal"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// buffered returns a view that does not write to terminals, and its buffers for stdout and stderr.
func buffered(f Flags) (v *View, out, errs *bytes.Buffer) {
	out, errs = new(bytes.Buffer), new(bytes.Buffer)
	return New(f, cli.NewStdout(out), errs, func(string) (string, bool) { return "", false }), out, errs
}

// watched returns what a view writes to stderr while it watches a crawl for the time d.
func watched(t *testing.T, f Flags, tty bool, d time.Duration) string {
	v, _, errs := buffered(f)
	c, err := crawler.New(crawler.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if tty {
		v.screen = terminal.NewScreen(errs, true, false)
	}
	stop := v.Watch(c, &crawler.Config{}, nil)
	time.Sleep(d)
	stop()
	return errs.String()
}

func TestLogLineEvery30SecondsOffATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := watched(t, Flags{Messages: Messages{LogFormat: "text"}}, false, 65*time.Second)
		if n := strings.Count(out, "msg=progress pages=0 rate=0.0/s hosts_active=0 hosts_waiting=0 queued=0 refused=0 deferred=0 errors=0 next=0s eta=?\n"); n != 2 {
			t.Errorf("%d lines in 65 s: %s", n, out)
		}
		out = watched(t, Flags{Messages: Messages{LogFormat: "json"}}, false, 31*time.Second)
		if !strings.Contains(out, `"msg":"progress","pages":0,"rate":"0.0/s"`) {
			t.Errorf("in JSON: %s", out)
		}
		if out = watched(t, Flags{Messages: Messages{Quiet: true}}, false, time.Hour); out != "" {
			t.Errorf("with -q: %s", out)
		}
	})
}

func TestStatusAtMost5TimesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if every := time.Second / drawEvery; every > 5 {
			t.Errorf("%d times a second", every)
		}
		out := watched(t, Flags{}, true, 10*time.Second)
		if n := strings.Count(out, "\r0 pages"); n != 1 {
			t.Errorf("%d times in 10 s, in which nothing changed", n)
		}
		if !strings.HasSuffix(out, "\r\x1b[J") {
			t.Errorf("the status still stands: %q", out[len(out)-20:])
		}
	})
}

// If the delay for other people's hosts is raised to the minimum, the view prints that, unless the user sees it in the line at the start.
func TestRaisedDelayIsPrinted(t *testing.T) {
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
		flags Flags
		want  string
	}{
		{"raised", 10 * time.Millisecond, []string{"http://127.0.0.1/", "http://a.test/"}, Flags{}, told},
		{"default", 0, []string{"http://a.test/"}, Flags{}, ""},
		{"none", crawler.NoDelay, []string{"http://a.test/"}, Flags{}, strings.Replace(told, "10ms", "0s", 1)},
		{"long enough", politeness.MinDelay, []string{"http://a.test/"}, Flags{}, ""},
		{"loopback", 10 * time.Millisecond, []string{"http://127.0.0.1/", "http://localhost/"}, Flags{}, ""},
		{"own", 10 * time.Millisecond, []string{"http://own.test/"}, Flags{}, ""},
		{"quiet", 10 * time.Millisecond, []string{"http://a.test/"}, Flags{Messages: Messages{Quiet: true}}, ""},
	} {
		var urls []weburl.URL
		for _, s := range c.seeds {
			urls = append(urls, mustURL(t, s))
		}
		v, _, errs := buffered(c.flags)
		v.Begin(&crawler.Config{Politeness: politeness.Config{Delay: c.delay, OwnHosts: own}}, urls)
		if got := errs.String(); got != c.want {
			t.Errorf("%s: said %q, want %q", c.name, got, c.want)
		}
	}
}
