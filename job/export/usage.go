package export

import (
	"iter"

	"github.com/amble-crawler/amble/sink"
)

// statement is a row of usage: a statement of a site about one visit.
type statement struct {
	url, host string
	at        visit
	sink.Statement
	file    *sink.TermsFile // that has it; nil for the answer itself
	decides bool
}

// Usage returns the table of what sites say about the uses of their pages.
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
