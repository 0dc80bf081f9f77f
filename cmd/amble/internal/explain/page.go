package explain

import (
	"context"
	"net/netip"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// Page is a page in memory. Its links are judged as a crawler would judge them, without a request.
type Page struct {
	crawler.EveryType

	Base   weburl.URL // URL of the page
	Body   []byte
	XHTML  bool
	Config crawler.Config // configuration of the crawl that would find the page
	Scope  crawler.Scope  // scope of that crawl

	// stage is the URL at which the crawler finds the page. It is not Base, because the scope might exclude Base, and because the page may
	// have a link to Base.
	stage weburl.URL
}

// Judge calls see with the page's visit, which has the page's links and their fates. The error is about the configuration.
func (p *Page) Judge(see func(*crawler.Visit)) (err error) {
	if p.stage, err = weburl.Parse("http://page.invalid/"); err != nil {
		return err
	}
	cfg := p.Config
	cfg.Scope.Custom, cfg.Extractor, cfg.Hosts = p, p, nil
	cfg.Agent, cfg.Contact, cfg.Promises, cfg.Politeness = "", "", "", politeness.Config{Offline: true}
	cfg.Concurrency, cfg.Limits.Pages = 1, 1
	cfg.Handler = crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
		see(v)
		return crawler.Stop
	})
	if cfg.Fetcher, err = fetcher.NewReplayer(fetcher.Config{}, p.answer); err != nil {
		return err
	}
	c, err := crawler.New(cfg)
	if err != nil {
		return err
	}
	_, err = c.Run(context.Background(), p.stage.String())
	return err
}

// answer returns the response of the server that the crawler requests.
func (p *Page) answer(u weburl.URL, _ politeness.Purpose) (*fetcher.Recorded, error) {
	head := "HTTP/1.1 404 Not Found\r\n\r\n"
	var body []byte
	if u == p.stage {
		head, body = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", p.Body
		if p.XHTML {
			head = "HTTP/1.1 200 OK\r\nContent-Type: application/xhtml+xml\r\n\r\n"
		}
	}
	return &fetcher.Recorded{Addr: netip.IPv6Loopback(), Head: []byte(head), Payload: body}, nil
}

// JudgeKind implements crawler.Scope.
func (p *Page) JudgeKind(u weburl.URL, kind frontier.Kind) crawler.Decision {
	if u == p.stage {
		return crawler.Decision{In: true}
	}
	return p.Scope.JudgeKind(u, kind)
}

// Extract implements crawler.Extractor. It extracts links as if Base were the URL of the page.
func (p *Page) Extract(of *fetcher.Page) (*extract.Document, error) {
	text, err := of.Text()
	if err != nil {
		return nil, err
	}
	doc := extract.HTML(text, extract.Options{Resources: p.Config.Follow.Resources, MaxLinks: p.Config.Limits.LinksPerPage, XML: of.IsXHTML()})
	switch base, err := p.Base.Resolve(doc.Base); {
	case err == nil:
		doc.Base = base.String()
	case weburl.ReasonOf(err) == weburl.ReasonSyntax:
		doc.Base = p.Base.String()
	}
	return doc, nil
}
