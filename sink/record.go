package sink

import (
	"encoding/json"
	"time"
)

// Record is the outcome of one URL, in the form in which it is written: as one line of visits.jsonl. docs/visit.schema.json describes the
// JSON form.
type Record struct {
	Schema  string   `json:"schema"`
	URL     string   `json:"url"`
	Final   string   `json:"final,omitempty"` // target of a redirect
	Hops    []string `json:"hops,omitempty"`  // the redirects that led to URL, oldest first
	Via     string   `json:"via,omitempty"`   // the page or redirect in which URL was found
	Depth   int      `json:"depth"`
	Status  int      `json:"status,omitempty"`
	Outcome string   `json:"outcome"`
	Reason  string   `json:"reason,omitempty"`
	Rule    string   `json:"rule,omitempty"`
	Detail  string   `json:"detail,omitempty"`
	Error   string   `json:"error,omitempty"`

	Type         string     `json:"type,omitempty"`
	Charset      string     `json:"charset,omitempty"`
	CharsetFrom  string     `json:"charset_from,omitempty"`  // where Charset comes from: "header", "meta", …
	Bytes        int        `json:"bytes,omitempty"`         // size of the decoded body
	Truncated    string     `json:"truncated,omitempty"`     // reason code if the body is incomplete
	Cached       bool       `json:"cached,omitempty"`        // the response comes from a cache, without a request
	SHA256       string     `json:"sha256,omitempty"`        // hash of the decoded body, hexadecimal
	ETag         string     `json:"etag,omitempty"`          // header field as received, for later conditional requests
	LastModified string     `json:"last_modified,omitempty"` // header field as received, for later conditional requests
	Title        string     `json:"title,omitempty"`
	Canonical    string     `json:"canonical,omitempty"`
	Directives   []string   `json:"directives,omitempty"` // robots directives that apply to the page
	Usage        []Usage    `json:"usage,omitempty"`      // the site's preferences about uses of the page
	Terms        *Terms     `json:"terms,omitempty"`      // all statements of the site about uses, with the verdict for the crawl's purposes
	SameAs       string     `json:"same_as,omitempty"`    // the first URL with the same body
	NearOf       string     `json:"near_of,omitempty"`    // URL of an earlier page that is nearly the same
	Links        *LinkCount `json:"links,omitempty"`

	// Rendered is the result of rendering the page, nil if it was not rendered. If there is a rendered page, Title, Canonical, Directives and
	// Links are those of that page; Bytes and SHA256 always are those of the fetched page.
	Rendered *Rendered `json:"rendered,omitempty"`

	// Data holds the values that the program has extracted from the page: each element is a JSON value of the program's choice.
	Data []json.RawMessage `json:"data,omitempty"`

	Attempt int       `json:"attempt,omitempty"` // number of the attempt, from 0
	Queued  time.Time `json:"queued,omitzero"`
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`

	// WARC is the place of the response in an archive, nil if no sink stored it. A sink that stores the response sets WARC in Append, so it
	// must come before the sinks that write it.
	WARC *Location `json:"warc,omitempty"`

	// Outlinks are the links of the page in document order, each with its fate. They are only set if one of the crawl's sinks has
	// [Needs].Links. They are not part of the JSON form.
	Outlinks []Outlink `json:"-"`

	// Exchange is the last request for the URL and its response, for sinks that store them. It is nil if there was no request or it was not
	// recorded. It is not part of the JSON form.
	Exchange *Exchange `json:"-"`
}

// Usage is a site's preference about one use of a page. It neither permits nor forbids crawling.
type Usage struct {
	Use    string `json:"use"`    // use, such as "train-ai" or "search"
	Signal string `json:"signal"` // "allow", "disallow", or "unknown" with a Value
	Origin string `json:"origin"` // "robots.txt", "header" or "meta"
	// Value is the preference as written, if it is neither yes nor no, such as that of use=reference of Content-Signal.
	Value string `json:"value,omitempty"`
}

// LinkCount counts the links of a page by what was decided about them.
type LinkCount struct {
	Found      int `json:"found"`
	Follow     int `json:"follow,omitempty"`
	OutOfScope int `json:"out_of_scope,omitempty"`
	TooDeep    int `json:"too_deep,omitempty"`
	NoFollow   int `json:"nofollow,omitempty"`
	Resource   int `json:"resource,omitempty"`
	Invalid    int `json:"invalid,omitempty"`
	Trap       int `json:"trap,omitempty"`
	Limit      int `json:"link_limit,omitempty"`
	Full       int `json:"queue_full,omitempty"`
}

// Rendered is the outcome of rendering a page: of running its scripts in a browser. The codes are those of package render and of
// crawler.Rendered.
type Rendered struct {
	Why      string          `json:"why"`                  // rule that selected the page for rendering
	Cut      string          `json:"cut,omitempty"`        // reason code if rendering ended early
	Rounds   int             `json:"rounds,omitempty"`     // number of rounds of rendering
	Millis   int             `json:"virtual_ms,omitempty"` // time for which the page ran, by the page's clock, in milliseconds
	Bytes    int             `json:"bytes,omitempty"`      // size of the rendered document; 0: there is none, and the fetched page counts
	SHA256   string          `json:"sha256,omitempty"`     // hash of the rendered document, hexadecimal
	Requests []RenderRequest `json:"requests,omitempty"`   // the page's requests, in order
	Dropped  int             `json:"dropped,omitempty"`    // number of requests beyond the limit of Requests
	Routes   []RenderRoute   `json:"routes,omitempty"`     // addresses to which scripts tried to navigate; they count as links
	Console  []string        `json:"console,omitempty"`    // first lines that the page wrote to the console
	Dialogs  int             `json:"dialogs,omitempty"`    // number of dialogs opened
	WARC     *Location       `json:"warc,omitempty"`       // place of the rendered document in an archive; set like Record.WARC

	// DOM is the rendered document, HTML in UTF-8, and Screenshot a picture of the page (PNG), for sinks that store them. They are nil if
	// there is none, and not part of the JSON form.
	DOM        []byte `json:"-"`
	Screenshot []byte `json:"-"`
}

// RenderRequest is a request of a rendered page, and its outcome: the Status of the response, or a reason in Refused; neither is set if the
// response is missing.
type RenderRequest struct {
	URL     string `json:"url"`               // as requested, cut to 2048 bytes; may be an invalid URL
	Kind    string `json:"kind"`              // what the response is used for, a render.Kind: "script", "fetch", …
	Method  string `json:"method,omitempty"`  // HTTP method if it is not GET
	Status  int    `json:"status,omitempty"`  // status of the response; 0 if there was none
	Refused string `json:"refused,omitempty"` // reason code if the request was refused (see render.Fate)
}

// RenderRoute is an address to which a script of a page tried to navigate.
type RenderRoute struct {
	URL string `json:"url"`
	How string `json:"how"` // how the script navigated: "push", "location", …
}

// Location is a place in an archive.
type Location struct {
	File   string `json:"file"`   // name of the archive file, without directory
	Offset int64  `json:"offset"` // offset of the record in the file, in bytes
	Length int64  `json:"length"` // length of the compressed record in the file, in bytes
}
