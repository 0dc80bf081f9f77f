package check

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"

	"github.com/amble-crawler/amble/internal/hidden"
)

// WriteJSON writes the findings as JSON Lines.
func (r *Result) WriteJSON(w io.Writer) error {
	for i := range r.Findings {
		line, err := json.Marshal(&r.Findings[i])
		if err != nil {
			return err
		}
		if _, err := w.Write(append(hidden.Escape(line), '\n')); err != nil {
			return err
		}
	}
	return nil
}

// levelNames maps each Level to its SARIF level.
var levelNames = map[Level]string{Broken: "error", Undecided: "warning", Mend: "warning", Unknown: "note"}

// WriteSARIF writes the findings in the Static Analysis Results Interchange Format 2.1.0 (OASIS), with a result for each page
// that links to a URL. version is the version of the program.
func (r *Result) WriteSARIF(w io.Writer, version string) error {
	type message struct {
		Text string `json:"text"`
	}
	type rule struct {
		ID               string  `json:"id"`
		ShortDescription message `json:"shortDescription"`
	}
	type result struct {
		RuleID    string  `json:"ruleId"`
		RuleIndex int     `json:"ruleIndex"`
		Level     string  `json:"level"`
		Message   message `json:"message"`
		Locations []any   `json:"locations"`
	}
	rules, results, index := []rule{}, []result{}, map[string]int{}
	for i := range r.Findings {
		f := &r.Findings[i]
		at, known := index[f.Reason]
		if !known {
			at = len(rules)
			index[f.Reason] = at
			rules = append(rules, rule{f.Reason, message{f.Why()}})
		}
		pages := f.Pages
		if len(pages) == 0 {
			pages = []Page{{URL: f.URL}}
		}
		for _, p := range pages {
			text := f.URL + ": " + f.Why()
			if p.Text != "" {
				text += fmt.Sprintf(" (link %q)", p.Text)
			}
			where := map[string]any{"physicalLocation": map[string]any{"artifactLocation": map[string]string{"uri": p.URL}}}
			results = append(results, result{f.Reason, at, levelNames[f.Level], message{text}, []any{where}})
		}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(map[string]any{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []any{map[string]any{
			"tool":    map[string]any{"driver": map[string]any{"name": "amble", "version": version, "rules": rules}},
			"results": results,
		}},
	})
}

// WriteJUnit writes the findings as a test suite in the XML format of JUnit: a failed test for each broken URL, a skipped one for any
// other finding, and a passed one for the rest of the site.
func (r *Result) WriteJUnit(w io.Writer) error {
	type outcome struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	type test struct {
		Class   string   `xml:"classname,attr"`
		Name    string   `xml:"name,attr"`
		Failure *outcome `xml:"failure,omitempty"`
		Skipped *outcome `xml:"skipped,omitempty"`
	}
	type suite struct {
		XMLName  xml.Name `xml:"testsuite"`
		Name     string   `xml:"name,attr"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Skipped  int      `xml:"skipped,attr"`
		Cases    []test   `xml:"testcase"`
	}
	s := suite{Name: "links", Tests: len(r.Findings) + 1, Failures: r.Broken(), Skipped: len(r.Findings) - r.Broken()}
	s.Cases = append(s.Cases, test{Class: "links", Name: fmt.Sprintf("%d other URLs of %d pages", max(0, r.Links-len(r.Findings)), r.Pages)})
	for i := range r.Findings {
		f := &r.Findings[i]
		o := &outcome{Message: f.Why()}
		for _, p := range f.Pages {
			o.Text += "on " + p.URL + p.label() + "\n"
		}
		t := test{Class: f.Reason, Name: f.URL, Failure: o}
		if f.Level != Broken {
			t.Failure, t.Skipped = nil, o
		}
		s.Cases = append(s.Cases, t)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(s); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
