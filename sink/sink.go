// Package sink is where visits go. A [Sink] takes one [Record] per URL whose fate is final, in the
// order they are given, and can say how far its output is durable, so that after a crash it and the
// crawl's frontier are cut back to the same point.
package sink

import (
	"context"
	"time"
)

// Schema names the version of Record's JSON form. It changes when a field changes its meaning or
// goes; new fields do not change it.
const Schema = "amble.visit/1"

// Sink stores records. Its methods are called by one goroutine at a time.
type Sink interface {
	// Append adds a record. The output may be buffered until Sync. After an error the Sink's output
	// is only good up to the last offset that Sync returned.
	Append(ctx context.Context, r *Record) error
	// Sync makes everything appended durable and returns the offset up to which it is.
	Sync() (offset int64, err error)
	// Restore cuts the output back to an offset that Sync returned. It is called before the first
	// Append, when a crawl goes on after a crash.
	Restore(offset int64) error
	// Close flushes what was appended and releases the output.
	Close() error
}

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

	Type       string     `json:"type,omitempty"`
	Charset    string     `json:"charset,omitempty"`
	Bytes      int        `json:"bytes,omitempty"`     // of the body, decoded
	Truncated  string     `json:"truncated,omitempty"` // why the body is not whole
	SHA256     string     `json:"sha256,omitempty"`    // of the decoded body, hexadecimal
	Title      string     `json:"title,omitempty"`
	Canonical  string     `json:"canonical,omitempty"`
	Directives []string   `json:"directives,omitempty"` // robots directives in force for the page
	Links      *LinkCount `json:"links,omitempty"`

	Attempt int       `json:"attempt,omitempty"` // 0: the first was final
	Queued  time.Time `json:"queued,omitzero"`
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
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
}
