package check

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// isFragment reports whether a fragment names an element. "" and "top" need no element; "#!" and "#/" begin addresses that
// scripts read; ":~:" introduces directives for the browser (URL Fragment Text Directives).
func isFragment(s string) bool {
	return s != "" && !strings.EqualFold(s, "top") && !strings.HasPrefix(s, "!") && !strings.HasPrefix(s, "/") && !strings.Contains(s, ":~:")
}

// element returns the page and the hash of the element name to which a link leads, if it leads to an element of a page of the
// site. Pages of other sites are left out: their scripts may add the names later.
func (c *checker) element(l *sink.Outlink) (page weburl.Key, name uint64, ok bool) {
	if !isFragment(l.Fragment) {
		return page, 0, false
	}
	u, err := weburl.Parse(l.To)
	for range maxHops { // follow redirects, which keep the fragment
		if err != nil || !c.site.Decide(u).In {
			return page, 0, false
		}
		page = c.key(u)
		v := c.urls[page]
		if v == nil || v.level != moved {
			break
		}
		u, err = weburl.Parse(v.to)
	}
	return page, maphash.String(c.seed, unescaped(l.Fragment)), true
}

// want records the element name to which a link leads.
func (c *checker) want(l *sink.Outlink) {
	page, name, ok := c.element(l)
	if !ok {
		return
	}
	if i, known := slices.BinarySearch(c.names[page], name); !known {
		c.names[page] = slices.Insert(c.names[page], i, name)
	}
}

// fragment adds a link to the findings if its page lacks the name.
func (c *checker) fragment(l *sink.Outlink, at Page) {
	page, name, ok := c.element(l)
	if _, lacks := slices.BinarySearch(c.names[page], name); ok && lacks {
		c.add(l.To+"#"+l.Fragment, &verdict{level: Broken, reason: reasonFragment, status: http.StatusOK}, nil, at)
	}
}

// fragments reads the pages whose elements are linked to, and keeps the names that they lack. It reports whether there are any.
func (c *checker) fragments(ctx context.Context) (lacking bool, err error) {
	if len(c.names) == 0 {
		return false, nil
	}
	pages, err := c.job.Pages()
	if err != nil {
		return false, err
	}
	if pages == nil {
		c.res.Notes = append(c.res.Notes, "fragments (#name) were not checked: the crawl kept no archive")
		return false, nil
	}
	defer func() { _ = pages.Close() }() // only read, so an error of closing loses nothing
	wanted := c.names
	c.names = map[weburl.Key][]uint64{}
	unread := 0
	for v, err := range c.job.Visits() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return false, err
		}
		u, err := weburl.Parse(v.URL)
		if err != nil {
			continue
		}
		k := c.key(u)
		names := wanted[k]
		if names == nil {
			continue
		}
		delete(wanted, k)
		has, ok := c.namesAt(ctx, pages, u, v)
		if !ok {
			unread++
			continue
		}
		lacks := slices.DeleteFunc(names, func(name uint64) bool { _, is := has[name]; return is })
		if len(lacks) > 0 {
			c.names[k] = lacks
		}
	}
	if unread > 0 {
		c.res.Notes = append(c.res.Notes, fmt.Sprintf("fragments of %s were not checked: the archive has them not or not whole", cli.Plural(unread, "page")))
	}
	return len(c.names) > 0, nil
}

// namesAt returns the hashes of the element names of an archived page. ok is false if the archive has no complete copy of the page.
func (c *checker) namesAt(ctx context.Context, pages *job.Pages, u weburl.URL, v *sink.Record) (names map[uint64]struct{}, ok bool) {
	if v.WARC == nil {
		return nil, false
	}
	p, err := pages.Read(ctx, u, v.WARC)
	if err != nil {
		return nil, false
	}
	defer p.Release()
	text, err := p.Text()
	if err != nil || p.Truncated != "" { // the missing part of the page may contain the name
		return nil, false
	}
	return c.namesOf(text), true
}

// namesOf returns the hashes of the names of a page's elements (HTML Standard section 7.4.6.4): every id, and the name attribute
// of a elements.
func (c *checker) namesOf(page []byte) map[uint64]struct{} {
	names := map[uint64]struct{}{}
	z := html.NewTokenizer(bytes.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return names
		case html.StartTagToken, html.SelfClosingTagToken:
			tag, more := z.TagName()
			anchor := string(tag) == "a"
			for more {
				var key, value []byte
				key, value, more = z.TagAttr()
				if string(key) == "id" || anchor && string(key) == "name" {
					names[maphash.Bytes(c.seed, value)] = struct{}{}
				}
			}
		}
	}
}

// unescaped decodes a percent-encoded fragment.
func unescaped(name string) string {
	if s, err := url.PathUnescape(name); err == nil {
		return s
	}
	return name
}
