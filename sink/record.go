package sink

import (
	"encoding/json"
	"time"
)

// Record is the fate of one URL as it is written out: one line of visits.jsonl.
// docs/visit.schema.json describes the JSON form.
type Record struct {
	Schema  string   `json:"schema"`
	URL     string   `json:"url"`
	Final   string   `json:"final,omitempty"` // where a redirect leads
	Hops    []string `json:"hops,omitempty"`  // the redirects that led here, oldest first
	Via     string   `json:"via,omitempty"`   // the page or redirect that named it
	Depth   int      `json:"depth"`
	Status  int      `json:"status,omitempty"`
	Outcome string   `json:"outcome"`
	Reason  string   `json:"reason,omitempty"`
	Rule    string   `json:"rule,omitempty"`
	Detail  string   `json:"detail,omitempty"`
	Error   string   `json:"error,omitempty"`

	Type         string     `json:"type,omitempty"`
	Charset      string     `json:"charset,omitempty"`
	CharsetFrom  string     `json:"charset_from,omitempty"`  // how Charset is known: "header", "meta", …
	Bytes        int        `json:"bytes,omitempty"`         // of the body, decoded
	Truncated    string     `json:"truncated,omitempty"`     // why the body is not whole
	SHA256       string     `json:"sha256,omitempty"`        // of the decoded body, hexadecimal
	ETag         string     `json:"etag,omitempty"`          // what makes a later request conditional, as it was received
	LastModified string     `json:"last_modified,omitempty"` // likewise
	Title        string     `json:"title,omitempty"`
	Canonical    string     `json:"canonical,omitempty"`
	Directives   []string   `json:"directives,omitempty"` // robots directives in force for the page
	Usage        []Usage    `json:"usage,omitempty"`      // what the site says of uses of the page
	SameAs       string     `json:"same_as,omitempty"`    // the first URL that had the same body
	NearOf       string     `json:"near_of,omitempty"`    // an earlier page that is nearly the same
	Links        *LinkCount `json:"links,omitempty"`

	// Data is what the program that crawls took from the page, in its own form: each a JSON value.
	Data []json.RawMessage `json:"data,omitempty"`

	Attempt int       `json:"attempt,omitempty"` // 0: the first was final
	Queued  time.Time `json:"queued,omitzero"`
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`

	// WARC is where an archive stored the answer. A sink that stores it sets it in Append, so it
	// stands before the sinks that write it down. nil: nowhere.
	WARC *Location `json:"warc,omitempty"`

	// Exchange is the last request for the URL with its answer, for sinks that keep it. nil: there
	// was none, or nobody recorded it. It is no part of the JSON form.
	Exchange *Exchange `json:"-"`
}

// Usage is what a site says of one use of a page. It is no permission and no refusal of a crawl.
type Usage struct {
	Use    string `json:"use"`    // "train-ai", "search", …
	Signal string `json:"signal"` // "allow" or "disallow"
	Origin string `json:"origin"` // "robots.txt", "header" or "meta"
}

// LinkCount counts the links of a page by fate.
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

// Location is a place in an archive.
type Location struct {
	File   string `json:"file"`   // name of the archive file, without directory
	Offset int64  `json:"offset"` // octets of the file before the record
	Length int64  `json:"length"` // octets of the record in the file, compressed as it is there
}
