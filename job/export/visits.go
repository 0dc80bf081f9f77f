package export

import (
	"cmp"
	"iter"

	"github.com/amble-crawler/amble/job/digest"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/warc"
	"github.com/amble-crawler/amble/weburl"
)

// visit is a row of the table of visits.
type visit struct {
	*sink.Record
	url weburl.URL // zero if the URL of the visit cannot be parsed
}

// visits returns a function for the visits that keep selects; nil selects all.
func visits(keep func(*sink.Record) bool) func(x *Export) iter.Seq2[visit, error] {
	return func(x *Export) iter.Seq2[visit, error] {
		return func(yield func(visit, error) bool) {
			for v, err := range x.Visits() {
				row := visit{Record: v}
				if err == nil {
					if keep != nil && !keep(v) {
						continue
					}
					row.url, _ = weburl.Parse(v.URL) // columns of an invalid URL are null
				}
				if !yield(row, err) || err != nil {
					return
				}
			}
		}
	}
}

// Visits returns the table of visits. Columns that also exist in Common Crawl's index have its names.
func Visits() *Table {
	return tableOf("visits", "a URL with its outcome, in the order in which they ended", visits(nil), visitFields())
}

// Problems returns the table of visits that an operator should know about.
func Problems() *Table {
	t := tableOf("problems", "a visit that failed, was refused or was answered with 4xx or 5xx", visits(digest.IsProblem), problemFields())
	t.Part = true
	return t
}

// problemColumns lists the columns of visits that problems has.
var problemColumns = []string{"url", "url_host_name", "fetch_time", "fetch_status", "outcome", "reason", "rule", "detail", "error", "via", "depth", "attempt"}

// ProblemColumns returns the names of the columns of the table of problems, all of which visits has.
func ProblemColumns() []string { return append([]string(nil), problemColumns...) }

func problemFields() (list []field[visit]) {
	all := visitFields()
	for _, name := range problemColumns {
		for _, f := range all {
			if f.Name == name {
				list = append(list, f)
			}
		}
	}
	return list
}

func visitFields() []field[visit] {
	return append(append(urlFields(), fetchFields()...), ownFields()...)
}

// orZero returns the value that p points to, or the zero value if p is nil. An empty text is null in a table.
func orZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// urlFields returns the columns that are computed from a URL. They are null if it cannot be parsed.
func urlFields() []field[visit] {
	return []field[visit]{
		{Column{"url_surtkey", Text, "the URL as a sort key: SURT, as in the index of a web archive"}, func(v visit) Value { return text(warc.SURT(v.URL)) }},
		{Column{"url", Text, "the URL, as it was requested"}, func(v visit) Value { return text(v.URL) }},
		{Column{"url_host_name", Text, "host without port"}, func(v visit) Value { return text(v.url.Hostname()) }},
		{Column{"url_host_registered_domain", Text, "domain that can be registered, by the public suffix list"}, func(v visit) Value { return text(v.url.Domain()) }},
		{Column{"url_protocol", Text, "http or https"}, func(v visit) Value { return text(v.url.Scheme()) }},
		{Column{"url_port", Int, "port, null for the default of the protocol"}, func(v visit) Value { return ownPort(v.url) }},
		{Column{"url_path", Text, "path"}, func(v visit) Value { return text(v.url.Path()) }},
		{Column{"url_query", Text, "query without its question mark"}, func(v visit) Value { return text(v.url.Query()) }},
	}
}

// ownPort returns the port that a URL names explicitly.
func ownPort(u weburl.URL) Value {
	port := u.Port()
	if u.IsZero() || port == "80" && u.Scheme() == "http" || port == "443" && u.Scheme() == "https" {
		return Value{}
	}
	n := int64(0)
	for _, c := range port {
		n = n*10 + int64(c-'0')
	}
	return number(n)
}

// fetchFields returns columns about the response, with Common Crawl's names.
func fetchFields() []field[visit] {
	return []field[visit]{
		{Column{"fetch_time", Time, "when the request of the last attempt began; null if there was none"}, func(v visit) Value { return moment(v.Started) }},
		{Column{"fetch_status", Int, "status of the answer, null without one"}, func(v visit) Value { return positive(v.Status) }},
		{Column{"fetch_redirect", Text, "target of a redirect"}, func(v visit) Value { return text(v.Final) }},
		{Column{"content_digest", Text, "sha256: and the SHA-256 of the decoded body, hexadecimal (Common Crawl: SHA-1 of the payload)"}, func(v visit) Value {
			if v.SHA256 == "" {
				return Value{}
			}
			return text("sha256:" + v.SHA256)
		}},
		{Column{"content_mime_type", Text, "media type as declared"}, func(v visit) Value { return text(v.Type) }},
		{Column{"content_charset", Text, "character encoding"}, func(v visit) Value { return text(v.Charset) }},
		{Column{"content_truncated", Text, "why the body is not complete"}, func(v visit) Value { return text(v.Truncated) }},
		{Column{"warc_filename", Text, "archive file with the answer, without directory"}, func(v visit) Value { return text(orZero(v.WARC).File) }},
		{Column{"warc_record_offset", Int, "offset of the record in it, in bytes"}, func(v visit) Value { return Value{Valid: v.WARC != nil, Int: orZero(v.WARC).Offset} }},
		{Column{"warc_record_length", Int, "length of the record in it, in bytes, compressed"}, func(v visit) Value { return Value{Valid: v.WARC != nil, Int: orZero(v.WARC).Length} }},
	}
}

// ownFields returns columns that Common Crawl does not have.
func ownFields() []field[visit] {
	return []field[visit]{
		{Column{"outcome", Text, "fetched, redirected, refused, out_of_scope, deferred, failed, trapped, duplicate or not_modified"}, func(v visit) Value { return text(v.Outcome) }},
		{Column{"reason", Text, "stable code of the reason, null for an ordinary fetched page"}, func(v visit) Value { return text(v.Reason) }},
		{Column{"rule", Text, "rule of scope or robots.txt that decided, as written"}, func(v visit) Value { return text(v.Rule) }},
		{Column{"detail", Text, "a sentence for a person"}, func(v visit) Value { return text(v.Detail) }},
		{Column{"error", Text, "error message, if it failed"}, func(v visit) Value { return text(v.Error) }},
		{Column{"depth", Int, "links followed from a seed"}, func(v visit) Value { return count(v.Depth) }},
		{Column{"via", Text, "page or redirect that named the URL, null for a seed"}, func(v visit) Value { return text(v.Via) }},
		{Column{"hops", List, "redirects that led to the URL, oldest first"}, func(v visit) Value { return list(v.Hops) }},
		{Column{"attempt", Int, "0 if the first attempt was final"}, func(v visit) Value { return count(v.Attempt) }},
		{Column{"bytes", Int, "length of the decoded body, null without one"}, func(v visit) Value { return positive(v.Bytes) }},
		{Column{"title", Text, "title of the page"}, func(v visit) Value { return text(v.Title) }},
		{Column{"canonical", Text, "address that the page names as its own"}, func(v visit) Value { return text(v.Canonical) }},
		{Column{"etag", Text, "ETag as received"}, func(v visit) Value { return text(v.ETag) }},
		{Column{"last_modified", Text, "Last-Modified as received"}, func(v visit) Value { return text(v.LastModified) }},
		{Column{"directives", List, "robots directives that apply to the page"}, func(v visit) Value { return list(v.Directives) }},
		{Column{"usage", List, "what the site says about uses of the page, each as \"use signal origin\""}, func(v visit) Value { return list(usage(v.Usage)) }},
		{Column{"terms_effect", Text, "verdict about the purposes of the crawl: silent, allows, conditional, unmet or forbids; null if the site says nothing"}, func(v visit) Value { return text(orZero(v.Terms).Effect) }},
		{Column{"terms_purpose", Text, "purpose with the strictest answer"}, func(v visit) Value { return text(orZero(v.Terms).Purpose) }},
		{Column{"terms_by", Text, "statement that decides, with its place"}, func(v visit) Value {
			s := v.Terms.Decisive()
			if s == nil {
				return Value{}
			}
			return text(s.Name + ": " + s.Text + " (" + s.Place + ")")
		}},
		{Column{"same_as", Text, "first URL with the same body"}, func(v visit) Value { return text(v.SameAs) }},
		{Column{"near_of", Text, "earlier page that is nearly the same"}, func(v visit) Value { return text(v.NearOf) }},
		{Column{"links", Int, "links found on the page, null if it was not read for links"}, func(v visit) Value { return Value{Valid: v.Links != nil, Int: int64(orZero(v.Links).Found)} }},
		{Column{"links_followed", Int, "of them, those to follow"}, func(v visit) Value { return Value{Valid: v.Links != nil, Int: int64(orZero(v.Links).Follow)} }},
		{Column{"rendered", Text, "why the page was rendered in a browser, null if it was not"}, func(v visit) Value { return text(orZero(v.Rendered).Why) }},
		{Column{"rendered_cut", Text, "why it was not rendered to its end"}, func(v visit) Value { return text(orZero(v.Rendered).Cut) }},
		{Column{"rendered_bytes", Int, "length of the rendered document, null if there is none and the page counts as it was fetched"}, func(v visit) Value { return positive(orZero(v.Rendered).Bytes) }},
		{Column{"rendered_requests", Int, "requests that the page made while it was rendered"}, func(v visit) Value {
			r := orZero(v.Rendered)
			return Value{Valid: v.Rendered != nil, Int: int64(len(r.Requests) + r.Dropped)}
		}},
		{Column{"data", List, "what the program extracted, each element as JSON"}, func(v visit) Value {
			var all []string
			for _, d := range v.Data {
				all = append(all, string(d))
			}
			return list(all)
		}},
		{Column{"queued", Time, "when the URL was queued"}, func(v visit) Value { return moment(v.Queued) }},
		{Column{"ended", Time, "when the outcome was final"}, func(v visit) Value { return moment(v.Ended) }},
	}
}

func usage(all []sink.Usage) (texts []string) {
	for _, u := range all {
		texts = append(texts, u.Use+" "+cmp.Or(u.Value, u.Signal)+" "+u.Origin)
	}
	return texts
}

// statement is a row of usage: a statement of a site about one visit.
type statement struct {
	url, host string
	at        visit
	sink.Statement
	file    *sink.TermsFile // file with the statement; nil if the response itself contains the statement
	decides bool
}

// Usage returns the table of the statements that sites make about uses of their pages.
func Usage() *Table {
	return tableOf("usage", "a statement of a site about the uses of a page that was visited, in the order of the visits", statements, []field[*statement]{
		{Column{"url", Text, "the URL that it is about"}, func(s *statement) Value { return text(s.url) }},
		{Column{"url_host_name", Text, "its host without port"}, func(s *statement) Value { return text(s.host) }},
		{Column{"outcome", Text, "outcome of the visit"}, func(s *statement) Value { return text(s.at.Outcome) }},
		{Column{"reason", Text, "its reason"}, func(s *statement) Value { return text(s.at.Reason) }},
		{Column{"place", Text, "robots.txt, header, meta, tdmrep.json, licence or status"}, func(s *statement) Value { return text(s.Place) }},
		{Column{"document", Text, "URL of the file that has it, null for the answer itself"}, func(s *statement) Value { return text(s.Document) }},
		{Column{"line", Int, "line in robots.txt"}, func(s *statement) Value { return positive(s.Line) }},
		{Column{"name", Text, "field, element or directive"}, func(s *statement) Value { return text(s.Name) }},
		{Column{"text", Text, "statement as written"}, func(s *statement) Value { return text(s.Text) }},
		{Column{"use", Text, "use that it is about"}, func(s *statement) Value { return text(s.Use) }},
		{Column{"condition", Text, "what it asks for"}, func(s *statement) Value { return text(s.Condition) }},
		{Column{"archive", Text, "what it means for this purpose: allows, conditional, unmet or forbids; null if nothing"}, func(s *statement) Value { return text(s.Archive) }},
		{Column{"research", Text, "what it means for this purpose"}, func(s *statement) Value { return text(s.Research) }},
		{Column{"search", Text, "what it means for this purpose"}, func(s *statement) Value { return text(s.Search) }},
		{Column{"ai_input", Text, "what it means for this purpose"}, func(s *statement) Value { return text(s.AIInput) }},
		{Column{"train_ai", Text, "what it means for this purpose"}, func(s *statement) Value { return text(s.TrainAI) }},
		{Column{"decides", Bool, "whether it decides the verdict of the visit"}, func(s *statement) Value { return boolean(s.decides) }},
		{Column{"effect", Text, "verdict of the visit"}, func(s *statement) Value { return text(s.at.Terms.Effect) }},
		{Column{"purpose", Text, "purpose of the crawl that the verdict is about"}, func(s *statement) Value { return text(s.at.Terms.Purpose) }},
		{Column{"fetched", Time, "when the file that has it was received; of the answer itself, when its request began"}, func(s *statement) Value {
			if s.file != nil {
				return moment(s.file.Fetched)
			}
			return moment(s.at.Started)
		}},
		{Column{"sha256", Text, "SHA-256 of that file, hexadecimal"}, func(s *statement) Value { return text(orZero(s.file).SHA256) }},
	})
}

func statements(x *Export) iter.Seq2[*statement, error] {
	return func(yield func(*statement, error) bool) {
		for v, err := range visits(func(r *sink.Record) bool { return r.Terms != nil })(x) {
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range v.Terms.Statements {
				s := &v.Terms.Statements[i]
				row := &statement{url: v.URL, host: v.url.Hostname(), at: v, Statement: *s, file: v.Terms.File(s), decides: s == v.Terms.Decisive()}
				if !yield(row, nil) {
					return
				}
			}
		}
	}
}
