package report

import (
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
)

func TestSummaryHoldsOffHostileText(t *testing.T) {
	types := map[string]int{"text/html\x1b[2J": 1, "": 2}
	for _, x := range strings.Fields("a b c d e f g h") {
		types[x] = 1
	}
	text := Text(&crawler.Report{
		Finish: crawler.FinishDone, Pages: 1, Hosts: 1, Types: types, Sitemaps: []string{"x\x1b]0;y\a", "2", "3", "4"},
	}, "", nil)
	if strings.ContainsAny(text, "\x1b\a") {
		t.Errorf("controls reach the terminal: %q", text)
	}
	for _, want := range []string{"1 page in 0s: done, nothing left\n", "unknown 2, a 1,", " and 2 more\n", `x\x1b]0;y\a 2 3 and 1 more`} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
}

// TestSummaryNamesBotWalls checks that the summary names sites with a bot wall, and sites whose robots.txt is an HTML page.
func TestSummaryNamesBotWalls(t *testing.T) {
	text := Text(&crawler.Report{Walls: map[string]int{"Anubis": 2, "Cloudflare": 5}, HTMLRobots: []string{"http://a.test", "http://b.test", "http://c.test", "http://d.test"}}, "", nil)
	for _, want := range []string{
		"  bot walls  Cloudflare 5, Anubis 2\n",
		"  warning    robots.txt of http://a.test and http://b.test and http://c.test and 1 more is an HTML page, and has no rules\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
}

func TestSummarySaysThatHostsAreLeftStatic(t *testing.T) {
	r := &crawler.Report{Rendering: &crawler.RenderingCount{Cut: map[string]int{crawler.CutHost: 12}}}
	if s := Text(r, "", nil); !strings.Contains(s, "warning    three renderings in a row of a host were stuck: 12 pages of such hosts not rendered\n") {
		t.Error(s)
	}
}

func TestSummaryNamesHostsWhoseSitemapsAreLeftOut(t *testing.T) {
	r := &crawler.Report{
		Finish: crawler.FinishDone, Reasons: map[string]int{crawler.ReasonSitemapBudget: 107, crawler.ReasonHostBudget: 2},
		SitemapsCut: map[string]int{"b.test:80": 7, "a.test:80": 100},
	}
	text := Text(r, "", nil)
	for _, want := range []string{
		"done, 2 URLs left out: the budgets of their hosts were used up; 107 sitemaps left out: their hosts have more than max-sitemaps\n",
		"  warning    not all sitemaps of a.test:80 and b.test:80 are read (max-sitemaps): 107 left out\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
}

func TestSummarySaysWhyAHandlerStopped(t *testing.T) {
	text := Text(&crawler.Report{Finish: crawler.FinishDrained, Stopped: "the list ends\x1b[2J", Left: 3}, "", nil)
	if want := `stopped because the list ends\x1b[2J, 3 URLs left`; !strings.Contains(text, want) {
		t.Errorf("%q lacks %q", text, want)
	}
}

func TestSummaryStatesCostToSites(t *testing.T) {
	r := crawler.Report{Finish: crawler.FinishDrained, Left: 3, Requests: 17, Bytes: 2048, Connections: 4, Server: crawler.Duration{Duration: 90 * time.Second}, TooMany: 1, ServerErrors: 12}
	text := Text(&r, "", nil)
	for _, want := range []string{
		": stopped in good order, 3 URLs left\n",
		"  cost       to the sites: 17 requests, 2.0 KiB, 4 connections, 1m30s of their\n             servers' time; they answered 429 once and 5xx 12 times\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
}

func TestSummaryShowsTimeLostToOtherCrawls(t *testing.T) {
	text := Text(&crawler.Report{LostToOthers: crawler.Duration{Duration: 90 * time.Second}}, "", nil)
	if want := "  waited     1m30s lost to other crawls of yours, over all hosts\n"; !strings.Contains(text, want) {
		t.Errorf("%q lacks %q", text, want)
	}
}
