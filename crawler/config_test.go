package crawler_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

func TestBadInput(t *testing.T) {
	for _, c := range []struct {
		name   string
		config crawler.Config
		seeds  []string
		want   string
	}{
		{"no seeds", crawler.Config{}, nil, "no seeds"},
		{"no URL", crawler.Config{}, []string{"::"}, `seed "::"`},
		{"mail", crawler.Config{}, []string{"mailto:x@y.org"}, "url_scheme"},
		{"no contact", crawler.Config{}, []string{"http://site.org/"}, "contact is empty"},
		{"placeholder", crawler.Config{Contact: "you@example.com"}, []string{"http://site.org/"}, "placeholder"},
		{"agent", crawler.Config{Agent: "my bot/1"}, nil, "product token"},
		{"scope", crawler.Config{Scope: crawler.ScopeConfig{Kind: "world"}}, nil, "host, domain, prefix or any"},
		{"rule", crawler.Config{Scope: crawler.ScopeConfig{Rules: []crawler.ScopeRule{{Pattern: "("}}}}, nil, `scope rule "("`},
		{"any without limit", crawler.Config{Scope: crawler.ScopeConfig{Kind: crawler.ScopeAny}, Limits: crawler.Limits{Pages: crawler.Unlimited}}, nil, "explicit limit"},
		{"priority rule", crawler.Config{Priorities: []crawler.PriorityRule{{Pattern: "/a"}, {Pattern: "(", Priority: 3}}}, nil, `Priorities[1] is wrong: crawler: priority rule "(=3": error parsing`},
		{"priority rule without pattern", crawler.Config{Priorities: []crawler.PriorityRule{{Priority: 3}}}, nil, `priority rule "=3": no pattern`},
		{"order", crawler.Config{Order: "random"}, nil, `Order is wrong: crawler: order "random": want found, or hash:SEED`},
		{"order without seed", crawler.Config{Order: crawler.OrderHash("")}, nil, "1 to 64 bytes"},
		{"order and priorities", crawler.Config{Order: crawler.OrderHash("1"), Priorities: []crawler.PriorityRule{{Pattern: "/a", Priority: 3}}}, nil, "Order is by hash, and there are priorities"},
		{"order and a seed's priority", crawler.Config{Order: crawler.OrderHash("1"), Seeds: []crawler.Request{{URL: "http://a.example/", Priority: 1}}}, nil, "Order is by hash, and there are priorities"},
		{"sample too large", crawler.Config{Sample: crawler.Sample{N: crawler.MaxSample + 1, Seed: "a"}}, nil, "want 1 to 10000 of each site"},
		{"sample without seed", crawler.Config{Sample: crawler.Sample{N: 3}}, nil, "Sample is wrong: crawler: the seed of a draw"},
		{"extractor and options", crawler.Config{Extract: extract.Options{Forms: true}, Extractor: new(noLinks)}, nil, "Extract and Extractor are both set: an Extractor reads pages itself"},
		{"options of other fields", crawler.Config{Extract: extract.Options{Resources: true}}, nil, "Follow.Resources"},
		{"negative option", crawler.Config{Extract: extract.Options{MaxAttr: -1}}, nil, "negative MaxAttr"},
		{"concurrency", crawler.Config{Concurrency: -3}, nil, "Concurrency is -3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cr, err := crawler.New(c.config)
			if err == nil {
				_, err = cr.Run(t.Context(), c.seeds...)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestSeedsAreValidated(t *testing.T) {
	err := crawler.Config{
		Seeds: []crawler.Request{{URL: "http://a.example/"}, {URL: "/relative"}}, Limits: crawler.Limits{Pages: -7, Bytes: -3}, Sinks: []sink.Sink{nil},
	}.Validate()
	var all interface{ Unwrap() []error }
	if !errors.As(err, &all) {
		t.Fatal(err)
	}
	var fields []string
	for _, err := range all.Unwrap() {
		var c *crawler.ConfigError
		if errors.As(err, &c) {
			fields = append(fields, c.Field+" "+c.Problem)
		}
	}
	same(t, fields, `Seeds[1].URL is not a URL to crawl: weburl: url_syntax: "/relative"`, "Limits.Pages is -7: must be 1 or more, or Unlimited",
		"Limits.Bytes is -3: must be 1 or more, or Unlimited", "Sinks[0] is nil")
	var bad *weburl.Error
	if !errors.As(err, &bad) {
		t.Errorf("%v does not wrap weburl's error", err)
	}
}

// noLinks is an Extractor that finds no links.
type noLinks struct{}

func (*noLinks) Extract(*fetcher.Page) (*extract.Document, error) { return nil, nil } //nolint:nilnil // no links
