package extract

import (
	"strings"
	"testing"
)

// TestJSONFeed follows JSON Feed Version 1.1.
func TestJSONFeed(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"items", `{"version": "https://jsonfeed.org/version/1.1", "title": " My  feed ", "language": "de", "home_page_url": "http://x/",
"feed_url": "http://x/feed.json", "next_url": "?page=2", "icon": "/i.png", "authors": [{"url": "http://no/"}], "hubs": [{"url": "http://no/"}],
"items": [
 {"id": "http://x/g1", "url": "http://x/1?a=1&b", "title": "One & <only>", "image": "/1.png", "banner_image": "/b.png", "summary": "url", "tags": ["url"],
  "attachments": [{"url": "http://x/1.mp3", "mime_type": "audio/mpeg"}, {"url": "http://x/1.ogg"}], "external_url": "http://y/", "_own": {"url": "http://no/", "items": [{"url": "http://no/"}]}},
 {"title": "Two", "id": "http://x/2"}, {"id": "3"}, {"id": 4, "url": null}, 5, ["url", {"url": "http://no/"}], {"url": "\u002f5"}]}`,
			`link home_page_url <http://x/> (alternate)
link feed_url <http://x/feed.json> (self)
link next_url <?page=2> (next)
image icon </i.png>
entry url <http://x/1?a=1&b> "One & <only>"
image image </1.png>
image banner_image </b.png>
media attachments.url <http://x/1.mp3> audio/mpeg
media attachments.url <http://x/1.ogg>
link external_url <http://y/> (other)
entry id <http://x/2> "Two"
entry url </5>`},
		{"version last", `{"items": [{"url": "http://x/"}], "version": "https://jsonfeed.org/version/1"}`, "entry url <http://x/>"},
		{"old scheme", `{"version": "http://jsonfeed.org/version/1", "items": [{"url": "http://x/"}]}`, "entry url <http://x/>"},
		{"byte order mark", "\ufeff\n{\"version\": \"https://jsonfeed.org/version/1\", \"items\": [{\"url\": \"http://x/\"}]}", "entry url <http://x/>"},
		{"cut", `{"version": "https://jsonfeed.org/version/1.1", "items": [{"title": "T", "url": "http://x/1"}, {"url": "http://x/2`, `entry url <http://x/1> "T"`},
		{"broken", `{"version": "https://jsonfeed.org/version/1.1", "items": [{"url": "http://x/1"}, {"url" "http://x/2"}]}`, `entry url <http://x/1>`},
		{"numbers that none are", `{"version": "https://jsonfeed.org/version/1.1", "n": 1e999, "items": [{"url": "http://x/1"}]}`, `entry url <http://x/1>`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := Feed([]byte(tt.body))
			if d == nil {
				t.Fatal("no feed")
			}
			if got := show(d); got != tt.want {
				t.Errorf("got %s\nwant %s", got, tt.want)
			}
			if tt.name == "items" && (d.Title != "My feed" || d.Lang != "de") {
				t.Errorf("title %q, language %q", d.Title, d.Lang)
			}
		})
	}
}

func TestJSONFeedOffset(t *testing.T) {
	const body = ` {"version": "https://jsonfeed.org/version/1.1", "items": [{"url": "http://x/1"}, {"url" : "http://x/2"}]}`
	d := Feed([]byte(body))
	for i, want := range []string{`"http://x/1"`, `"http://x/2"`} {
		if got := d.Links[i].Offset; got != strings.Index(body, want) {
			t.Errorf("%s at %d, want %d", want, got, strings.Index(body, want))
		}
	}
}

func TestJSONFeedIsBounded(t *testing.T) {
	const head = `{"version": "https://jsonfeed.org/version/1.1", "items": [`
	d := Feed([]byte(head + strings.Repeat(`{"url": "x"},`, defaultMaxLinks+5)))
	if len(d.Links) != defaultMaxLinks || d.Dropped != 5 {
		t.Errorf("%d links, %d dropped", len(d.Links), d.Dropped)
	}
	if d := Feed([]byte(head + strings.Repeat("[", 1<<20))); d == nil || len(d.Links) != 0 {
		t.Errorf("%v", d)
	}
	long := strings.Repeat("x", maxFeedText+1)
	d = Feed([]byte(head + `{"url": "` + long + `", "title": "` + long + `"}, {"url": "y", "title": "` + long[:1000] + `"}`))
	if len(d.Links) != 1 || len(d.Links[0].Text) != maxText {
		t.Errorf("%.200s", show(d))
	}
}
