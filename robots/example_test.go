package robots_test

import (
	"fmt"
	"time"

	"github.com/amble-crawler/amble/robots"
)

const file = `# www.example.com
User-agent: *
Disallow: /search
Allow: /search/about
Disallow: /*?sid=
Crawl-delay: 2

User-agent: ExampleBot
Disallow: /drafts/
Disalow: /tmp/
Content-Usage: / train-ai=n

Sitemap: https://www.example.com/sitemap.xml
`

func Example() {
	group := robots.Parse([]byte(file)).For("OtherBot")
	for _, path := range []string{"/", "/search?q=1", "/search/about"} {
		fmt.Println(group.Test(path).Allowed, path)
	}
	// Output:
	// true /
	// false /search?q=1
	// true /search/about
}

func ExampleExplain() {
	rules := robots.Parse([]byte(file))
	source := robots.Source{
		RobotsURL: "https://www.example.com/robots.txt",
		Status:    200,
		FetchedAt: time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC),
	}
	fmt.Println(robots.Explain(rules.For("OtherBot").Test("/a?sid=7"), source))
	fmt.Println(robots.Explain(rules.For("OtherBot").Test("/search/about"), source))
	// Output:
	// refused: line 5 "Disallow: /*?sid=" of https://www.example.com/robots.txt (200, fetched 2026-01-05T10:00:00Z), group "*" line 2
	// allowed: line 4 "Allow: /search/about" of https://www.example.com/robots.txt (200, fetched 2026-01-05T10:00:00Z), group "*" line 2, over line 3 "Disallow: /search"
}

func ExampleGroup_CrawlDelay() {
	rules := robots.Parse([]byte(file))
	fmt.Println(rules.For("OtherBot").CrawlDelay())
	fmt.Println(rules.For("ExampleBot").CrawlDelay()) // a named group does not inherit the delay
	// Output:
	// 2s true
	// 0s false
}

func ExampleRules_Lints() {
	for _, lint := range robots.Parse([]byte(file)).Lints() {
		fmt.Println(lint)
	}
	// Output:
	// line 10: warning: the field's name is misspelt; it is read as Disallow (misspelt_field)
}

func ExampleRules_Sitemaps() {
	fmt.Println(robots.Parse([]byte(file)).Sitemaps())
	// Output: [https://www.example.com/sitemap.xml]
}

func ExampleRules_Disagree() {
	for _, dialect := range robots.Parse([]byte(file)).Disagree("OtherBot", "/search/about") {
		fmt.Println(dialect)
	}
	// Output:
	// Original1994
	// Draft1997
	// Revisited1996
	// Strictest
}

func ExampleParse_dialect() {
	rules := robots.Parse([]byte(file), robots.WithDialect(robots.Draft1997))
	verdict := rules.For("OtherBot").Test("/search/about")
	fmt.Println(verdict.Allowed, verdict.Rule)
	// Output: false Disallow: /search
}

func ExampleForStatus() {
	for _, status := range []int{200, 302, 404, 429, 503} {
		fmt.Println(status, robots.ForStatus(status))
	}
	// Output:
	// 200 obey
	// 302 redirect
	// 404 allow_all
	// 429 unreachable
	// 503 unreachable
}

func ExampleProductToken() {
	fmt.Println(robots.ProductToken("Mozilla/5.0 (compatible; ExampleBot/2.1; +https://www.example.com/bot)"))
	// Output: ExampleBot
}

func ExampleFreshness() {
	header := map[string][]string{"Cache-Control": {"max-age=3600"}, "Age": {"600"}}
	fmt.Println(robots.Freshness(header, time.Now()))
	// Output: 50m0s
}

func ExamplePageDirectives() {
	d := robots.PageDirectives("ExampleBot",
		[]string{"noarchive, otherbot: noindex"},
		[]robots.Meta{{Name: "examplebot", Content: "nofollow"}})
	fmt.Println(d.Terms(), d.NoFollow, d.NoIndex)
	// Output: [noarchive nofollow] true false
}

func ExamplePageUsage() {
	group := robots.Parse([]byte(file)).For("ExampleBot")
	header := map[string][]string{"Content-Usage": {"search=y"}}
	usage := robots.PageUsage(group, "/page", header, nil, robots.Directives{})
	for _, use := range []string{robots.UseTrainAI, robots.UseSearch, robots.UseAI} {
		fmt.Println(use, usage.For(use))
	}
	for _, s := range usage.Statements {
		fmt.Println(s.Use, s.Signal, s.Origin, s.Line)
	}
	// Output:
	// train-ai disallow
	// search allow
	// ai-use unknown
	// train-ai disallow robots.txt 11
	// search allow header 0
}
