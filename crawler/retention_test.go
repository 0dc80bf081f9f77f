package crawler_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

// keeper is a Scope that stores the URLs it is called with.
type keeper struct {
	crawler.EveryType
	mu   sync.Mutex
	urls []weburl.URL
}

func (k *keeper) JudgeKind(u weburl.URL, _ frontier.Kind) crawler.Decision {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.urls = append(k.urls, u)
	return crawler.Decision{In: true, Rule: "any"}
}

// URLs stored by a custom Scope do not change later.
func TestScopeMayKeepURLs(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", links("/first", "/second/and/longer", "/3"))
		for _, p := range []string{"/first", "/second/and/longer", "/3"} {
			s.Page(p, links("/", "/first", "/zzzzzzzzzzzzzzzzzzzzzzzzzz"))
		}
		k := &keeper{}
		crawl(t, w, crawler.Config{Scope: crawler.ScopeConfig{Custom: k}, Limits: crawler.Limits{Pages: 4}, Concurrency: 1}, s.URL("/"))
		var got []string
		for _, u := range k.urls {
			got = append(got, u.Path())
		}
		if want := "/ / / /first /second/and/longer /3"; !strings.HasPrefix(strings.Join(got, " "), want) {
			t.Errorf("asked about %v, want %s …", got, want)
		}
	})
}

// Page strings stored by a Handler do not change when the page's memory is reused.
func TestHandlerMayKeepStrings(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		var refs []string
		for i := range 50 {
			refs = append(refs, fmt.Sprintf("/%d", i))
			s.Page(refs[i], fmt.Sprintf(`<title>title %d</title><meta name=description content="about %d"><a href="/%d" type=t>text %d</a>`, i, i, i, i))
		}
		s.Page("/", links(refs...))
		kept := map[string]string{}
		h := crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
			if v.Depth == 1 {
				kept[v.URL.Path()], kept[v.URL.Path()+"l"] = v.Doc.Title, v.Doc.Links[0].Text+v.Doc.Metas[0].Content+v.Doc.Links[0].Ref
			}
			return nil
		})
		crawl(t, w, crawler.Config{Handler: h, Concurrency: 1}, s.URL("/"))
		for i := range 50 {
			p := fmt.Sprintf("/%d", i)
			if want := fmt.Sprintf("text %dabout %d/%d", i, i, i); kept[p] != fmt.Sprintf("title %d", i) || kept[p+"l"] != want {
				t.Errorf("%s became %q, %q", p, kept[p], kept[p+"l"])
			}
		}
	})
}
