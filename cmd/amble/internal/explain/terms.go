package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/consent"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// termsText writes a site's statements about the uses of a page, each with its source and date, and the verdict.
func termsText(t *sink.Terms, line func(name, value string)) {
	verdict := "for " + t.Purpose + ": " + t.Effect
	if t.Decisive() == nil {
		verdict = "the site says nothing about the purpose of the crawl"
	}
	if t.Use != "" {
		verdict = "the use " + t.Use + " is disallowed"
	}
	line("uses", verdict)
	for i := range t.Statements {
		s := &t.Statements[i]
		text := statementText(s)
		if f := t.File(s); f != nil && !f.Fetched.IsZero() {
			text += ", read " + f.Fetched.UTC().Format(time.RFC3339)
		}
		if s == t.Decisive() {
			text += "; it decides"
		}
		line("", text)
	}
	for _, c := range t.Costs {
		line("", fmt.Sprintf("asks %s %s per %s, which is not paid", c.Amount, c.Currency, c.Per))
	}
}

// statementText returns a statement as written, where it was found, and its meaning for purposes.
func statementText(s *sink.Statement) string {
	at := s.Place
	if s.Document != "" {
		at = s.Document
	}
	if s.Line > 0 {
		at += fmt.Sprintf(", line %d", s.Line)
	}
	var means []string
	for _, p := range []struct{ purpose, effect string }{
		{"archive", s.Archive}, {"research", s.Research}, {"search", s.Search}, {"ai-input", s.AIInput}, {"train-ai", s.TrainAI},
	} {
		if n := len(means); p.effect == "" {
			continue
		} else if n > 0 && strings.HasPrefix(means[n-1], p.effect+" ") {
			means[n-1] += ", " + p.purpose
		} else {
			means = append(means, p.effect+" "+p.purpose)
		}
	}
	if len(means) == 0 {
		means = []string{"means nothing for any purpose"}
	}
	text := fmt.Sprintf("%s: %s (%s): %s", s.Name, s.Text, at, strings.Join(means, "; "))
	if s.Condition != "" {
		text += " (" + s.Condition + ")"
	}
	return text
}

// uses adds to a judgement the statements about uses that its robots.txt makes.
func (q Question) uses(j *Judgement, u weburl.URL, group *robots.Group) {
	if group == nil {
		return
	}
	record := consent.Read(consent.Page{URL: u, Robots: group})
	j.Uses = (&crawler.Usage{Record: record}).Terms().Statements
	for _, l := range group.Licenses() {
		j.Licenses = append(j.Licenses, weburl.Redact(l.URL))
	}
	if len(j.Licenses) == 0 && !slices.ContainsFunc(j.Uses, func(s sink.Statement) bool { return s.Name != "Disallow" }) {
		j.Uses = nil // Rule and Line already show the Disallow line
		return
	}
	for _, p := range q.Policy.Collects() {
		j.Purposes = append(j.Purposes, p.String())
		if v := (consent.Policy{Purposes: []consent.Purpose{p}, Uses: q.Policy.Uses}).Judge(record); v.Refused() {
			j.Refused = append(j.Refused, Refusal{p.String(), v.String()})
		}
	}
}

// usesText describes the statements about uses in a robots.txt, one per line.
func (j *Judgement) usesText() (lines []string) {
	for i := range j.Uses {
		if j.Uses[i].Name != "Disallow" { // Rule already shows a Disallow line
			lines = append(lines, statementText(&j.Uses[i]))
		}
	}
	for _, l := range j.Licenses {
		lines = append(lines, "License: "+l+": a crawl reads this document before pages, and obeys it")
	}
	if len(lines) > 0 && len(j.Refused) < len(j.Purposes) {
		for _, p := range j.Purposes {
			if !slices.ContainsFunc(j.Refused, func(r Refusal) bool { return r.Purpose == p }) {
				lines = append(lines, "for "+p+": the file does not forbid it")
			}
		}
	}
	if len(lines) > 0 {
		for _, r := range j.Refused {
			lines = append(lines, "for "+r.Purpose+": not collected; "+r.Why)
		}
	}
	return lines
}

// ownerUses adds each statement that a host makes about the uses of its pages, and its consequences.
func ownerUses(b *strings.Builder, r *job.Reader, host string) error {
	said := map[string]int{} // number of visits by statement
	refused := map[string]int{}
	for v, err := range r.Visits() {
		if err != nil {
			return err
		}
		u, err := weburl.Parse(v.URL)
		if err != nil || v.Terms == nil || u.Host() != host && u.Hostname() != host {
			continue
		}
		for i := range v.Terms.Statements {
			s := &v.Terms.Statements[i]
			text := statementText(s)
			if said[text] == 0 && len(said) >= maxStatements {
				continue
			}
			if said[text]++; s == v.Terms.Decisive() && v.Outcome == string(crawler.Refused) {
				refused[text]++
			}
		}
	}
	if len(said) == 0 {
		return nil
	}
	b.WriteString("\nWhat your site says about uses, and what followed from it\n")
	for _, text := range cli.ByCount(said) {
		fmt.Fprintf(b, "  %s\n      said of %s", cli.Printable(text), cli.Plural(said[text], "URL"))
		if n := refused[text]; n > 0 {
			fmt.Fprintf(b, "; %s left out for it", cli.Plural(n, "URL"))
		}
		b.WriteString("\n")
	}
	return nil
}

// maxStatements limits the number of distinct statements that are shown for a host.
const maxStatements = 100
