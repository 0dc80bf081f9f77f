package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// What --print-config prints gives the same crawl when it is fed back, whatever the flags and their
// order.
func TestPrintConfigFedBackGivesTheSameCrawl(t *testing.T) {
	dir := t.TempDir()
	for seed := range uint64(25) {
		r := rand.New(rand.NewPCG(seed, 0))
		args := []string{"http://127.0.0.1/"}
		for _, i := range r.Perm(len(someFlags))[:r.IntN(len(someFlags))] {
			args = append(args, someFlags[i])
		}
		c, o := parsed(t, nil, args...)
		first := configText(c.described(o))
		path := filepath.Join(dir, "job.yaml")
		if err := os.WriteFile(path, []byte(first), 0o644); err != nil {
			t.Fatal(err)
		}
		again, o2 := parsed(t, nil, "--config", path)
		if want, got := yamlOf(t, first), yamlOf(t, configText(again.described(o2))); !reflect.DeepEqual(want, got) {
			t.Fatalf("printed %v, fed back and printed again %v", want, got)
		}
		seeds, err := again.seeds(again.URLs, o2, nil)
		if err != nil || len(seeds) != 1 {
			t.Fatalf("seeds %v, %v", seeds, err)
		}
		want, err := c.crawlerConfig(o, seeds)
		if err != nil { // the scope any, without a limit that was given; the printed one is given
			continue
		}
		got, err := again.crawlerConfig(o2, seeds)
		if err != nil || fmt.Sprintf("%+v", want) != fmt.Sprintf("%+v", got) { // no list is an empty list
			t.Fatalf("%v\ngives %+v\nfed back %+v, %v", args, want, got, err)
		}
		if c.outputFlags != again.outputFlags || c.Out != again.Out || c.FailOnLimit != again.FailOnLimit {
			t.Fatalf("%v: output flags differ", args)
		}
	}
}

var someFlags = []string{
	"--include=a{1,2},b", "--exclude=c: d # e", "--include=- f", "--exclude=\"g\"", "--exclude=two\nlines", "--rules=exclude h", "-d0", "-wnone",
	"--delay-factor=none", "--rate=0.25", "--max-delay=none", "--max-pages=7", "--max-bytes=1.5MiB", "--max-time=90",
	"--max-per-host=3", "--max-body=1kB", "--retries=none", "--retry-pause=1ms", "--sitemaps", "--scope=any", "--agent=my_bot/1",
	"--contact=me@site.university.edu", "--follow-nofollow", "--resources", "--allow-address=10.0.0.0/8,::1", "--allow-port=22,6000",
	"--max-crawl-delay=none", "--max-failures=none", "--dialect=strictest", "--refuse-usage=train-ai,search",
	"--dns-timeout=1h", "--max-header=1MiB", "--max-header-fields=9", "--max-encodings=1", "--max-ratio=20", "--min-rate=1kB", "--json", "--color=never", "-o=yes", "--fail-on-limit", "--per-domain", "--canonical=usual",
	"--max-queries=none", "--max-per-dir=9", "--max-same=4", "--near-bits=2", "--max-errors=5", "--feeds", "--beyond=1", "--cookies", "--proxy=http://a:b@127.0.0.1:1", "--source-address=127.0.0.1", "--hours=22:00-06:00,12:00-13:00", "--visit-time", "--insecure-hosts=a.org,b.org", "--max-soft=none", "--beyond-kinds=image,style",
}

func yamlOf(t *testing.T, s string) map[string]any {
	var m map[string]any
	if err := yaml.Unmarshal([]byte(s), &m); err != nil {
		t.Fatalf("no valid YAML: %v\n%s", err, s)
	}
	return m
}

func TestEveryValueHasItsOrigin(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "job.yaml")
	if err := os.WriteFile(path, []byte("depth: 2\nmax-pages: 3\ndelay: 4s\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c, o := parsed(t, map[string]string{"AMBLE_CONFIG": path, "AMBLE_MAX_PAGES": "30", "AMBLE_DELAY": "40"}, "-w5")
	for flag, want := range map[string]string{
		"delay": "flag", "max-pages": "environment AMBLE_MAX_PAGES", "depth": path + ":1", "scope": "default",
	} {
		if got := o.origin(flag); got != want {
			t.Errorf("%s comes from %q, want %q", flag, got, want)
		}
	}
	if c.Depth != 2 || c.MaxPages != 30 || c.Delay != duration(5*time.Second) {
		t.Errorf("depth %d, max-pages %d, delay %v", c.Depth, c.MaxPages, c.Delay)
	}
}

// The zero-configuration crawl is the library's: every default of the command is the Config's own.
func TestDefaultsAreTheLibrarys(t *testing.T) {
	c, o := parsed(t, nil, "http://127.0.0.1/")
	cfg, err := c.crawlerConfig(o, []weburl.URL{mustURL(t, "http://127.0.0.1/")})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []struct{ got, want any }{
		{cfg.Limits.Depth, crawler.DefaultMaxDepth}, {cfg.Limits.Pages, crawler.DefaultMaxPages},
		{cfg.Concurrency, crawler.DefaultConcurrency}, {cfg.Retries.Max, crawler.DefaultRetries},
		{cfg.Politeness.Delay, politeness.DefaultDelay}, {cfg.Politeness.DelayFactor, politeness.DefaultDelayFactor},
		{cfg.Politeness.MaxRetryAfter, politeness.DefaultMaxRetryAfter}, {cfg.Politeness.Rate, 0.0},
		{cfg.Limits.Bytes, int64(0)}, {cfg.Limits.Time, time.Duration(0)}, {cfg.Limits.PagesPerHost, 0}, {cfg.Scope.Kind, crawler.ScopeHost},
	} {
		if d.got != d.want {
			t.Errorf("%v, want %v", d.got, d.want)
		}
	}
}

func TestNothingAndNoneReachTheConfig(t *testing.T) {
	c, o := parsed(t, nil, "-d0", "-w0", "--delay-factor=none", "--max-delay=none", "--max-pages=none", "--retries=0",
		"--max-retry-after=none", "--max-crawl-delay=0", "--max-failures=none", "http://127.0.0.1/")
	cfg, err := c.crawlerConfig(o, []weburl.URL{mustURL(t, "http://127.0.0.1/")})
	if err != nil {
		t.Fatal(err)
	}
	p := cfg.Politeness
	if cfg.Limits.Depth != crawler.SeedsOnly || cfg.Limits.Pages != crawler.None || cfg.Retries.Max != crawler.None {
		t.Errorf("depth %d, pages %d, retries %d", cfg.Limits.Depth, cfg.Limits.Pages, cfg.Retries.Max)
	}
	if p.Delay != politeness.None || p.DelayFactor != politeness.None || p.MaxDelay != forever ||
		p.MaxRetryAfter != politeness.None || p.MaxCrawlDelay != 1 || p.MaxFailures != politeness.None {
		t.Errorf("%+v", p)
	}
}

func TestOwnHosts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own.txt")
	lines := "# ours\nMy.Site\nother.site:8080\nhttps://third.site/\n\n"
	if err := os.WriteFile(path, []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	f := paceFlags{OwnHosts: path, PerHost: 4}
	own, err := f.ownHosts()
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]int{
		"my.site:80": 4, "my.site:443": 4, "my.site:8080": 0, "other.site:8080": 4, "other.site:80": 0,
		"third.site:443": 4, "third.site:80": 0, "sub.my.site:80": 0, "stranger.site:80": 0,
	} {
		if got := own(host); got != want {
			t.Errorf("%s: %d in flight, want %d", host, got, want)
		}
	}
}

func TestOptOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.txt")
	if err := os.WriteFile(path, []byte("Left.Site\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f := paceFlags{OptOut: path}
	out, err := f.optOut()
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]bool{"left.site": true, "www.left.site": true, "eft.site": false, "site": false} {
		if out(host) != want {
			t.Errorf("%s: opted out %v", host, !want)
		}
	}
}

// Every setting says how it may differ when a job goes on.
func TestEverySettingHasItsFreedom(t *testing.T) {
	_, o := parsed(t, nil, "http://127.0.0.1/")
	names := map[string]bool{keyOverrides: true}
	for _, f := range o.ctx.Selected().Flags {
		names[f.Name] = true
		if !slices.Contains(unkeyed, f.Name) && freedoms[f.Name] == 0 {
			t.Errorf("--%s is not among the freedoms", f.Name)
		}
	}
	for name := range freedoms {
		if !names[name] {
			t.Errorf("%s is among the freedoms and no flag", name)
		}
	}
}

func TestPaceOfSettings(t *testing.T) {
	for _, c := range []struct {
		key, slow, fast string
	}{
		{"delay", "2s", "1s"}, {"delay", "1m", "59s"}, {"delay", "1s", "none"}, {"delay-factor", "2", "1.5"}, {"delay-factor", "1", "none"},
		{"max-delay", "none", "1h"}, {"rate", "2", "none"}, {"rate", "0.5", "1"},
	} {
		up := freedoms[c.key] == up
		lower, raise := change{c.key, c.slow, c.fast}, change{c.key, c.fast, c.slow}
		if lower.refusal("job") == nil || raise.refusal("job") != nil {
			t.Errorf("%s (raised: %v): %s to %s is refused: %v; back: %v", c.key, up, c.slow, c.fast, lower.refusal("job"), raise.refusal("job"))
		}
	}
}
