package sink

import (
	"encoding/json"
	"time"
)

// Record is the outcome of one URL as it is written out: one line of visits.jsonl. docs/visit.schema.json describes
// the JSON form.
type Record struct {
	Schema  string   `json:"schema"`
	URL     string   `json:"url"`
	Final   string   `json:"final,omitempty"` // target of a redirect
	Hops    []string `json:"hops,omitempty"`  // the redirects that led to URL, oldest first
	Via     string   `json:"via,omitempty"`   // the page or redirect that named URL
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
	Bytes        int        `json:"bytes,omitempty"`         // of the decoded body
	Truncated    string     `json:"truncated,omitempty"`     // why the body is incomplete
	Cached       bool       `json:"cached,omitempty"`        // the response is from a cache: nothing was requested
	SHA256       string     `json:"sha256,omitempty"`        // of the decoded body, hexadecimal
	ETag         string     `json:"etag,omitempty"`          // as received, for later conditional requests
	LastModified string     `json:"last_modified,omitempty"` // as received, for later conditional requests
	Title        string     `json:"title,omitempty"`
	Canonical    string     `json:"canonical,omitempty"`
	Directives   []string   `json:"directives,omitempty"` // robots directives that apply to the page
	Usage        []Usage    `json:"usage,omitempty"`      // the site's preferences about uses of the page
	Terms        *Terms     `json:"terms,omitempty"`      // all statements of the site about uses, with the verdict for the purposes of the crawl
	SameAs       string     `json:"same_as,omitempty"`    // the first URL with the same body
	NearOf       string     `json:"near_of,omitempty"`    // an earlier page that is nearly the same
	Links        *LinkCount `json:"links,omitempty"`

	// Rendered is the result of rendering the page, nil if it was not rendered. Title, Canonical, Directives and Links are those of
	// the rendered page, if there is one; Bytes and SHA256 are those of the fetched page.
	Rendered *Rendered `json:"rendered,omitempty"`

	// Data holds the values that the program extracted from the page, in its own form: each element is a JSON value.
	Data []json.RawMessage `json:"data,omitempty"`

	Attempt int       `json:"attempt,omitempty"` // 0 for the first
	Queued  time.Time `json:"queued,omitzero"`
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`

	// WARC is the place in an archive of the response, nil if none stored it. A sink that stores the response sets it in Append, so
	// it must come before the sinks that write it.
	WARC *Location `json:"warc,omitempty"`

	// Outlinks are the links of the page in document order, each with its fate, if one of the crawl's sinks has [Needs].Links. They
	// are not part of the JSON form.
	Outlinks []Outlink `json:"-"`

	// Exchange is the last request for the URL with its response, for sinks that store it. It is nil if there was none or it was
	// not recorded. It is not part of the JSON form.
	Exchange *Exchange `json:"-"`
}

// Usage is a site's preference about one use of a page. It neither permits nor forbids crawling.
type Usage struct {
	Use    string `json:"use"`    // "train-ai", "search", …
	Signal string `json:"signal"` // "allow", "disallow", or "unknown" with a Value
	Origin string `json:"origin"` // "robots.txt", "header" or "meta"
	// Value is the preference as written, if it is neither yes nor no, such as that of use=reference of Content-Signal.
	Value string `json:"value,omitempty"`
}

// LinkCount counts the links of a page by the decision about them.
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

// Rendered is the outcome of rendering a page, which means running its scripts in a browser. The codes are those of package render and
// of crawler.Rendered.
type Rendered struct {
	Why      string          `json:"why"`                  // the rule that decided to render it
	Cut      string          `json:"cut,omitempty"`        // why rendering ended early
	Rounds   int             `json:"rounds,omitempty"`     // number of rounds
	Millis   int             `json:"virtual_ms,omitempty"` // time for which the page ran by its own clock, in milliseconds
	Bytes    int             `json:"bytes,omitempty"`      // size of the rendered document; 0: there is none, and the fetched page counts
	SHA256   string          `json:"sha256,omitempty"`     // of the rendered document, hexadecimal
	Requests []RenderRequest `json:"requests,omitempty"`   // the page's requests, in order
	Dropped  int             `json:"dropped,omitempty"`    // number of requests beyond the limit of Requests
	Routes   []RenderRoute   `json:"routes,omitempty"`     // addresses to which scripts tried to go; they are links of the page
	Console  []string        `json:"console,omitempty"`    // the first lines written to its console
	Dialogs  int             `json:"dialogs,omitempty"`    // number of dialogs opened
	WARC     *Location       `json:"warc,omitempty"`       // the place in an archive of the rendered document; set like Record.WARC

	// DOM is the rendered document, HTML in UTF-8, and Screenshot a picture of it (PNG), for sinks that store them. They are
	// nil if there is none, and not part of the JSON form.
	DOM        []byte `json:"-"`
	Screenshot []byte `json:"-"`
}

// RenderRequest is a request of a rendered page, and its outcome: Status of the response, or Refused, or neither if the response is
// missing.
type RenderRequest struct {
	URL     string `json:"url"`               // as requested, at most its first 2048 bytes; it need not be a valid URL
	Kind    string `json:"kind"`              // what the answer was for, a render.Kind: "script", "fetch", …
	Method  string `json:"method,omitempty"`  // HTTP method if it is not GET
	Status  int    `json:"status,omitempty"`  // of the response; 0: there was none
	Refused string `json:"refused,omitempty"` // reason code of a refusal: see render.Fate; "": there was none
}

// RenderRoute is an address to which a script of a page tried to go.
type RenderRoute struct {
	URL string `json:"url"`
	How string `json:"how"` // "push", "location", …
}

// Location is a place in an archive.
type Location struct {
	File   string `json:"file"`   // name of the archive file, without directory
	Offset int64  `json:"offset"` // of the record in the file, in bytes
	Length int64  `json:"length"` // of the compressed record in the file, in bytes
}
