package main

import (
	"context"
	"net/http"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/internal/demo"
	"github.com/amble-crawler/amble/weburl"
)

// staged makes the crawler itself judge the links of a local page: the page is served on loopback, to this process
// only, and treated as if it were at base.
type staged struct {
	base  weburl.URL
	cfg   crawler.Config
	scope crawler.Scope
	stage weburl.URL
	xhtml bool
}

// judge calls see with the page's visit, which contains its links and their fates.
func (s *staged) judge(page []byte, see func(*crawler.Visit)) error {
	l, err := demo.Listen(0)
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", s.mediaType())
		_, _ = w.Write(page) // if this fails, the crawler sees it
	})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = srv.Serve(l) // it ends with ErrServerClosed
	}()
	defer func() {
		_ = srv.Close() // only our own listener and connections
		<-served
	}()
	s.stage, err = weburl.Parse("http://" + l.Addr().String() + "/")
	if err != nil {
		return err
	}
	return s.crawl(see)
}

func (s *staged) mediaType() string {
	if s.xhtml {
		return "application/xhtml+xml"
	}
	return "text/html"
}

func (s *staged) crawl(see func(*crawler.Visit)) error {
	cfg := s.cfg
	cfg.Scope.Custom, cfg.Extractor, cfg.Hosts = s, s, nil
	cfg.Agent, cfg.Contact = "", ""
	cfg.Concurrency, cfg.Limits.Pages = 1, 1
	cfg.Politeness.Delay = crawler.None
	cfg.Handler = crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
		see(v)
		return crawler.Stop
	})
	c, err := crawler.New(cfg)
	if err != nil {
		return cli.UsageOf("", err)
	}
	_, err = c.Run(context.Background(), s.stage.String())
	return err
}

// Decide implements crawler.Scope.
func (s *staged) Decide(u weburl.URL) crawler.Decision {
	if u == s.stage {
		return crawler.Decision{In: true}
	}
	return s.scope.Decide(u)
}

// Extract implements crawler.Extractor: it reads the page as a crawl does, as if its address were base.
func (s *staged) Extract(p *fetcher.Page) (*extract.Document, error) {
	text, err := p.Text()
	if err != nil {
		return nil, err
	}
	doc := extract.HTML(text, extract.Options{Resources: s.cfg.Follow.Resources, MaxLinks: s.cfg.Limits.LinksPerPage, XML: p.IsXHTML()})
	switch base, err := s.base.Resolve(doc.Base); {
	case err == nil:
		doc.Base = base.String()
	case weburl.ReasonOf(err) == weburl.ReasonSyntax:
		doc.Base = s.base.String()
	}
	return doc, nil
}
