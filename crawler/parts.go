package crawler

import (
	"context"
	"net/netip"

	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// Fetcher gets pages. A fetcher.Fetcher is one; a replacement sees nothing but Permits, so it cannot be
// less polite than the gate as long as it meets these conditions:
//
//	C1 Fetch redeems its Permit before anything else, and returns the error when that fails.
//	C2 It requests the Grant's URL at the Grant's address, with the Grant's User-Agent, by one GET. It
//	   follows no redirect, repeats nothing, and contacts nobody else. For a Permit with the Purpose Login there
//	   may be a method Post, like fetcher.Fetcher's; Fetch refuses it.
//	C3 It calls Grant.Begin once, immediately before the first byte of the request, and sends nothing
//	   when Begin fails.
//	C4 An answer of any status is a Page, with URL, Addr, Permit, Status, Header, ContentType (lower
//	   case, without parameters), Charset, Body (content coding undone) and the times Started, Written,
//	   FirstByte and Ended. A body that is not whole has the reason in Truncated.
//	C5 The lack of an answer is an error: a *fetcher.Error, whose Reason becomes the Visit's, or any other; one
//	   with a method Temporary() bool that returns true is tried again later. The Page is nil then.
//	C6 What a server may send is bounded: header, body and time.
//	C7 Resolve and Fetch return soon after their context has ended, and leave nothing running after
//	   they have returned.
//	C8 Both are called by many goroutines at once.
//
// robots.txt and sitemaps are requested in the same way, as Permits with the Purpose Robots and Sitemap: a
// Fetcher that answers from a disk answers for them, too. A status of 404 for robots.txt means that there
// are no rules.
//
// A Fetcher may also have methods like those of fetcher.Fetcher: FetchConditional, without which Config.Since makes no
// request conditional, and CloseIdle, which is called when a host (weburl.URL.Host) has no URLs left to request. A
// wrapper keeps them by embedding *fetcher.Fetcher.
type Fetcher interface {
	// Resolve returns the address of u's host: the same one as long as it works, because hosts that share
	// an address share its clock. Errors are like those of Fetch.
	Resolve(ctx context.Context, u weburl.URL) (netip.Addr, error)
	// Fetch redeems the Permit and makes its request.
	Fetch(ctx context.Context, p politeness.Permit) (*fetcher.Page, error)
}

// reasonOf returns the reason code of a Fetcher's error.
func reasonOf(err error) string { return or(fetcher.ReasonOf(err), ReasonFetcher) }

// Extractor reads a page's links. It is called concurrently, for every page that was answered and is not a
// redirect, sitemap or robots.txt, whatever its status and media type, and must return in time that is
// linear in the page's size. It must not keep or change the Page; strings of the Document may share the
// memory of fetcher.Page.Text, and the Document belongs to the crawler until its visit is over.
//
// A nil Document says that the page has no links to read. An error fails the visit, with [ReasonExtractor].
// References in the Document are as written: they are resolved, judged by scope and robots.txt and paced
// like any other link.
type Extractor interface {
	Extract(p *fetcher.Page) (*extract.Document, error)
}
