package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export/text"
	"github.com/amble-crawler/amble/jobs"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// fetchIn holds the arguments of the tool fetch.
type fetchIn struct {
	URL    string `json:"url" jsonschema:"an http or https URL"`
	Form   string `json:"form,omitempty" jsonschema:"markdown (default) or text"`
	From   int    `json:"from,omitempty" jsonschema:"bytes of the text that were received before, as next_from of the last answer says"`
	MaxAge *int   `json:"max_age_s,omitempty" jsonschema:"seconds for which an answer is good enough to be shown again (3600)"`
}

// pageFacts are the facts about the response to a request for a page.
type pageFacts struct {
	URL     string           `json:"url" jsonschema:"of the page, after redirects"`
	Status  int              `json:"status,omitempty" jsonschema:"of the answer by HTTP"`
	Type    string           `json:"type,omitempty"`
	Fetched string           `json:"fetched,omitempty" jsonschema:"when, in UTC"`
	Consent *usageStatements `json:"consent,omitempty"`
}

// usageStatements holds what a site says about uses of a page.
type usageStatements struct {
	Says  string       `json:"says" jsonschema:"in words"`
	Usage []sink.Usage `json:"usage,omitempty" jsonschema:"by use, such as train-ai"`
	Terms *sink.Terms  `json:"terms,omitempty" jsonschema:"all statements, with the verdict for the purposes of the crawl"`
}

// fetchOut is the result of the tool fetch.
type fetchOut struct {
	progress
	pageFacts
	Next   int     `json:"next_from,omitempty" jsonschema:"from of the call that continues the text; 0: it is whole"`
	Quoted *quoted `json:"quoted,omitempty"`
}

// quoted holds the text of a page, and other words of its authors.
type quoted struct {
	Notice string `json:"notice"`
	text.Facts
	Text string `json:"text"`
}

// maxText limits the text in a result, in bytes.
const maxText = 100_000

// pageSettings are the settings of a job for one page.
var pageSettings = map[string]any{"max-pages": 1, "depth": 0, "scope": "any", "text": true, "keep-links": true, "documents": true}

// fetch returns the text of a page, and facts about it.
func (t *tools) fetch(ctx context.Context, in fetchIn) (out fetchOut, err error) {
	if in.Form != "" && in.Form != "text" && in.Form != "markdown" {
		return out, fmt.Errorf("form %q: want markdown or text", in.Form)
	}
	r, err := t.page(ctx, in.URL, in.MaxAge, &out.progress, &out.pageFacts)
	if r == nil || err != nil {
		return out, err
	}
	defer func() { _ = r.Close() }() // opened only for reading
	row, err := textOf(r)
	if row == nil || err != nil {
		out.State, out.Why = broken, "the answer has no text that can be read: see type and status"
		return out, err
	}
	body := row.Markdown
	if in.Form == "text" {
		body = row.Text
	}
	if in.From < 0 || in.From > len(body) {
		return out, fmt.Errorf("from %d: the text has %d bytes", in.From, len(body))
	}
	body = body[in.From:]
	if len(body) > maxText {
		end := maxText
		for !utf8.RuneStart(body[end]) {
			end--
		}
		body, out.Next = body[:end], in.From+end
	}
	out.Quoted = &quoted{Notice: quotedNotice, Facts: row.Facts, Text: body}
	return out, nil
}

// linksIn holds the arguments of the tool links.
type linksIn struct {
	URL    string `json:"url" jsonschema:"an http or https URL"`
	From   int    `json:"from,omitempty" jsonschema:"links that were received before"`
	MaxAge *int   `json:"max_age_s,omitempty" jsonschema:"seconds for which an answer is good enough to be shown again (3600)"`
}

// linksOut is the result of the tool links.
type linksOut struct {
	progress
	pageFacts
	Total  int          `json:"total"`
	Quoted *quotedLinks `json:"quoted,omitempty"`
}

// quotedLinks holds the links of a page.
type quotedLinks struct {
	Notice string `json:"notice"`
	Links  []link `json:"links"`
}

// link is a link of a page.
type link struct {
	URL  string `json:"url"`
	Text string `json:"text,omitempty"`
	Kind string `json:"kind"`
	Fate string `json:"fate" jsonschema:"follow, or why a crawl of the host would not"`
}

// maxLinks limits the number of links in a result.
const maxLinks = 500

// links lists the links of a page.
func (t *tools) links(ctx context.Context, in linksIn) (out linksOut, err error) {
	r, err := t.page(ctx, in.URL, in.MaxAge, &out.progress, &out.pageFacts)
	if r == nil || err != nil {
		return out, err
	}
	defer func() { _ = r.Close() }() // opened only for reading
	out.Quoted = &quotedLinks{Notice: quotedNotice, Links: []link{}}
	for l, err := range r.Links() {
		if err != nil {
			return out, err
		}
		if out.Total++; l.To != "" && out.Total > in.From && len(out.Quoted.Links) < maxLinks {
			out.Quoted.Links = append(out.Quoted.Links, link{l.To, l.Text, l.Kind, l.Fate})
		}
	}
	return out, nil
}

// parse parses a URL from an agent.
func parse(address string) (weburl.URL, error) {
	u, err := weburl.Parse(address)
	if err != nil {
		err = fmt.Errorf("%q is no URL that can be requested (%w): write it in full, as in https://site.to.crawl/", address, err)
	}
	return u, err
}

// page requests a page, or uses a recent response, and returns a reader of its job. Without a page, the reader is nil and p has the reason.
func (t *tools) page(ctx context.Context, address string, maxAge *int, p *progress, facts *pageFacts) (*job.Reader, error) {
	u, err := parse(address)
	if err != nil {
		return nil, err
	}
	facts.URL = u.String()
	age := time.Hour
	if maxAge != nil {
		age = time.Duration(*maxAge) * time.Second
	}
	r, last, err := t.visit(ctx, "page "+u.Normal(), age, t.request("", pageSettings, u.String()), p)
	if last == nil || err != nil {
		return nil, err
	}
	facts.of(last)
	if p.judge(last); p.State == done {
		return r, nil
	}
	return nil, r.Close()
}

// visit runs a job for one URL (see run), and returns a reader of the job and its last visit; earlier visits are redirects. Without a
// visit, both are nil and p has the reason.
func (t *tools) visit(ctx context.Context, asked string, age time.Duration, q jobs.Request, p *progress) (r *job.Reader, last *sink.Record, err error) {
	var info jobs.Info
	if *p, info, err = t.run(ctx, asked, age, q); err != nil || p.State != done {
		return nil, nil, err
	}
	if r, err = job.Read(info.Dir); err != nil {
		return nil, nil, err
	}
	for v, err := range r.Visits() {
		if err != nil {
			return nil, nil, errors.Join(err, r.Close())
		}
		last = v
	}
	if last == nil {
		return nil, nil, errors.Join(errors.New("the job has ended without a visit"), r.Close())
	}
	return r, last, nil
}

// of sets the facts from a visit.
func (f *pageFacts) of(v *sink.Record) {
	f.URL, f.Status, f.Type = v.URL, v.Status, v.Type
	if !v.Ended.IsZero() {
		f.Fetched = v.Ended.UTC().Format(time.RFC3339)
	}
	f.Consent = &usageStatements{Says: "nothing about uses of the page", Usage: v.Usage, Terms: v.Terms}
	for i, u := range v.Usage {
		if i == 0 {
			f.Consent.Says = ""
		} else {
			f.Consent.Says += "; "
		}
		f.Consent.Says += fmt.Sprintf("%s: %s (%s)", u.Use, u.Signal, u.Origin)
	}
	if v.Terms != nil {
		f.Consent.Says += "; verdict for this crawl: " + v.Terms.Effect
	}
}

// judge sets the state, and the reason for it, from the outcome of a visit.
func (p *progress) judge(v *sink.Record) {
	switch o := crawler.Outcome(v.Outcome); {
	case (o == crawler.Fetched || o == crawler.Duplicate) && v.Status < 400:
		p.State = done
	case o == crawler.Fetched:
		p.State, p.Why = broken, fmt.Sprintf("the site answered %d", v.Status)
	case o == crawler.Refused:
		p.State, p.Why = refused, v.Reason
	default:
		p.State, p.Why = failed, v.Outcome+" "+v.Reason
	}
	if p.State != done {
		for _, more := range []string{v.Rule, v.Detail, v.Error} {
			if more != "" {
				p.Why += ": " + more
			}
		}
	}
}

// textOf returns the text of a job with one page; nil if it has none.
func textOf(r *job.Reader) (*text.Row, error) {
	f, err := r.Open(job.TextName)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // opened only for reading
	var row *text.Row
	err = eachText(f.SectionReader, func(x *text.Row) { row = x })
	return row, err
}

// eachText calls see with each text of a job.
func eachText(f interface{ Read([]byte) (int, error) }, see func(*text.Row)) error {
	d := json.NewDecoder(bufio.NewReaderSize(f, 1<<16))
	for d.More() {
		row := &text.Row{}
		if err := d.Decode(row); err != nil {
			return fmt.Errorf("%s: %w", job.TextName, err)
		}
		see(row)
	}
	return nil
}
