package job

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/politeness"
)

func TestOwnHosts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own.txt")
	lines := "# ours\nMy.Site\nother.site:8080\nhttps://third.site/\n\n"
	if err := os.WriteFile(path, []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	c := Config{OwnHosts: path, PerHost: 4}
	own, err := c.ownHosts()
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]int{
		"my.site:80": 4, "my.site:443": 4, "my.site:8080": 0, "other.site:8080": 4, "other.site:80": 0,
		"third.site:443": 4, "third.site:80": 0, "sub.my.site:80": 0, "stranger.site:80": 0,
	} {
		if got := own[host]; got != want {
			t.Errorf("%s: %d in flight, want %d", host, got, want)
		}
	}
}

func TestOptOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.txt")
	if err := os.WriteFile(path, []byte("Left.Site\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := readOptOut(path)
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]bool{"left.site": true, "www.left.site": true, "eft.site": false, "site": false} {
		if out(host) != want {
			t.Errorf("%s: opted out %v", host, !want)
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
		up := KeyNamed(c.key).Freedom == Up
		lower, raise := Change{Key: c.key, From: c.slow, To: c.fast}, Change{Key: c.key, From: c.fast, To: c.slow}
		if lower.refusal("job") == nil || raise.refusal("job") != nil {
			t.Errorf("%s (raised: %v): %s to %s is refused: %v; back: %v", c.key, up, c.slow, c.fast, lower.refusal("job"), raise.refusal("job"))
		}
	}
}

// TestDefaultsAreTheLibrarys checks that the main keys have the defaults of the library.
func TestDefaultsAreTheLibrarys(t *testing.T) {
	var all Settings
	for _, k := range Keys() {
		all = append(all, k.Default())
	}
	c, err := all.Config()
	if err != nil {
		t.Fatal(err)
	}
	cfg := c.Crawl
	for _, d := range []struct{ got, want any }{
		{cfg.Limits.Depth, crawler.Limit(crawler.DefaultMaxDepth)}, {cfg.Limits.Pages, crawler.Limit(crawler.DefaultMaxPages)},
		{cfg.Concurrency, crawler.DefaultConcurrency}, {cfg.Retries.Max, crawler.Limit(crawler.DefaultRetries)},
		{cfg.Politeness.Delay, politeness.DefaultDelay}, {cfg.Politeness.DelayFactor, politeness.DefaultDelayFactor},
		{cfg.Politeness.MaxRetryAfter, politeness.DefaultMaxRetryAfter}, {cfg.Politeness.Rate, 0.0},
		{cfg.Limits.Bytes, crawler.Limit(0)}, {cfg.Limits.Time, time.Duration(0)}, {cfg.Limits.PagesPerHost, crawler.Limit(0)}, {cfg.Scope.Kind, crawler.ScopeHost},
	} {
		if d.got != d.want {
			t.Errorf("%v, want %v", d.got, d.want)
		}
	}
}

func TestNothingAndNoneReachTheConfig(t *testing.T) {
	var all Settings
	for key, text := range map[string]string{
		"depth": "0", "delay": "0", "delay-factor": "none", "max-delay": "none", "max-pages": "none", "retries": "0",
		"max-retry-after": "none", "max-crawl-delay": "0", "max-failures": "none",
	} {
		all = append(all, Setting{Name: key, Values: []string{text}})
	}
	c, err := all.Config()
	cfg := c.Crawl
	if err != nil {
		t.Fatal(err)
	}
	p := cfg.Politeness
	if cfg.Limits.Depth != crawler.SeedsOnly || cfg.Limits.Pages != crawler.Unlimited || cfg.Retries.Max != crawler.Zero {
		t.Errorf("depth %d, pages %d, retries %d", cfg.Limits.Depth, cfg.Limits.Pages, cfg.Retries.Max)
	}
	if p.Delay != politeness.NoDelay || p.DelayFactor != politeness.NoFactor || p.MaxDelay != politeness.Forever ||
		p.MaxRetryAfter != politeness.Forever || p.MaxCrawlDelay != politeness.NoDelay || p.MaxFailures != politeness.Unlimited {
		t.Errorf("%+v", p)
	}
}

// TestTextAndBack checks that writing the value of a key as text and reading the text gives the same value.
func TestTextAndBack(t *testing.T) {
	for _, k := range Keys() {
		if k.Field == "" {
			continue
		}
		def := k.Default()
		texts := [][]string{def.Values}
		switch k.Kind() {
		case Bool:
			texts = append(texts, []string{"true"})
		case Text:
			if k.Name == keyHosts {
				texts = append(texts, []string{`[{match: a.test:8080, delay: 5s, max-pages: 3, max-bytes: 2MB, max-time: 90, headers: {x-key: [a, b], Accept-Language: de}, rules: [exclude /x/, include-kind image]}, {match: "*.b.test", delay: none, max-pages: none}, {match: 192.0.2.0/24}]`})
			}
		case List:
			texts = append(texts, map[string][]string{
				"allow-address": {"10.0.0.0/8"}, "hours": {"22:00-06:00", "12:00-13:00@Europe/Berlin"}, "allow-port": {"22"}, "rules": {"exclude a", "include b", "exclude-kind image,script", "include-kind anchor of a b", "exclude-type image/*", "include-type text/html,application/pdf of ^x"},
				"beyond-kinds": {"image", "style"}, "refuse-usage": {"train-ai"}, "insecure-hosts": {"a.org"}, "format": {"jsonl", "warc"},
			}[k.Name])
		case Choice:
			for _, c := range k.Choices() {
				texts = append(texts, []string{c})
			}
		case Duration:
			texts = append(texts, []string{"17s"}, []string{"none"}, []string{"0s"}, []string{"1h"})
		case Size:
			texts = append(texts, []string{"17KiB"}, []string{"none"})
		default:
			texts = append(texts, []string{"17"}, []string{"1"}, []string{"none"}, []string{"0"})
		}
		for _, text := range texts {
			var c Config
			s := Setting{Name: k.Name, Values: text}
			if err := k.set(&c, &s); err != nil {
				continue // the value is refused with a reason
			}
			once := k.of(&c)
			var again Config
			if err := k.set(&again, &once); err != nil {
				t.Errorf("%s: %q is written as %q: %v", k.Name, text, once.Values, err)
				continue
			}
			if got, want := k.field(&again).Interface(), k.field(&c).Interface(); !reflect.DeepEqual(got, want) && !reflect.DeepEqual(text, def.Values) {
				t.Errorf("%s: %q is %v, and written as %q it is %v", k.Name, text, want, once.Values, got)
			}
		}
	}
}

// TestEveryConfigFieldHasKeyOrIsReported checks that every field of a Config either has a key, or is reported as a field that only a
// program can set.
func TestEveryConfigFieldHasKeyOrIsReported(t *testing.T) {
	var c Config
	if got := c.Program(); len(got) > 0 {
		t.Errorf("an empty Config needs %v", got)
	}
	c.Crawl.Handler = crawler.HandlerFunc(func(context.Context, *crawler.Visit) error { return nil })
	c.Crawl.Fetch.Header = http.Header{"X": {"y"}}
	c.Crawl.Limits.InFlight = 1 << 20
	c.Crawl.Limits.Pages, c.Crawl.Contact, c.Crawl.Trace = 7, "me@site.university.edu", new(crawler.Trace)
	if got := c.Program(); !slices.Equal(got, []string{"Limits.InFlight", "Fetch.Header", "Handler"}) {
		t.Errorf("it needs %v", got)
	}
	for _, path := range jobsOwn {
		v := reflect.ValueOf(&c.Crawl).Elem()
		for name := range strings.SplitSeq(path, ".") {
			if v = v.FieldByName(name); !v.IsValid() {
				t.Errorf("there is no field %s", path)
				break
			}
		}
	}
}

// TestOneValueInTwoSpellings checks that if an older version recorded a value in another spelling, the value does not count as changed.
func TestOneValueInTwoSpellings(t *testing.T) {
	was := map[string]string{"max-time": "60s", "delay": "none", "max-body": "1024KiB", "dialect": "strictest"}
	now := map[string]string{"max-time": "1m", "delay": "0s", "max-body": "1MiB", "dialect": "Strictest"}
	if list, err := changes("job", was, now); len(list) > 0 || err != nil {
		t.Errorf("%v, %v", list, err)
	}
	now["max-time"] = "2m"
	if list, err := changes("job", was, now); len(list) != 1 || err != nil {
		t.Errorf("%v, %v", list, err)
	}
}
