package robots

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func metas(contents ...string) (out []Meta) {
	for _, c := range contents {
		out = append(out, Meta{"robots", c})
	}
	return out
}

// TestPageDirectivesAddUp checks that restrictions from all headers and elements add up, and that none can be revoked.
func TestPageDirectivesAddUp(t *testing.T) {
	for _, c := range []struct {
		headers []string
		metas   []Meta
		index   bool
		follow  bool
		terms   string
	}{
		{nil, nil, true, true, ""},
		{nil, metas("noindex"), false, true, "noindex"},
		{nil, metas("NOFOLLOW"), true, false, "nofollow"},
		{nil, metas("none"), false, false, "none"},
		{nil, metas("None, All"), false, false, "none all"},
		{nil, metas("index, follow"), true, true, "index follow"},
		{nil, metas("noindex", "nofollow, noindex"), false, false, "noindex nofollow"},
		{nil, metas("noindex, follow"), false, true, "noindex follow"},
		{nil, metas("noindexing, nofollows"), true, true, "noindexing nofollows"},
		{nil, metas(" noindex ;nofollow, ,"), false, false, "noindex nofollow"},
		{nil, metas("noindex nofollow"), false, false, "noindex nofollow"},
		{nil, metas("noindex please"), true, true, "noindex please"},
		{nil, metas("made-up, other:thing"), true, true, "made-up other:thing"},
		{nil, []Meta{{"ROBOTS", "noindex"}}, false, true, "noindex"},
		{nil, []Meta{{"examplebot", "nofollow"}, {"otherbot", "noindex"}}, true, false, "nofollow"},
		{nil, []Meta{{"", "noindex"}, {"description", "noindex"}}, true, true, ""},
		{[]string{"noindex"}, metas("nofollow"), false, false, "noindex nofollow"},
		{[]string{"noindex, nofollow"}, nil, false, false, "noindex nofollow"},
		{[]string{"noindex", "nofollow"}, nil, false, false, "noindex nofollow"},
		{[]string{"otherbot: noindex, nofollow"}, nil, true, true, ""},
		{[]string{"ExampleBot: noindex, nofollow"}, nil, false, false, "noindex nofollow"},
		{[]string{"examplebot: noindex", "nofollow"}, nil, false, false, "noindex nofollow"},
		{[]string{"examplebot:noindex, otherbot: nofollow"}, nil, false, true, "noindex"},
		{[]string{"nofollow, otherbot: noindex"}, nil, true, false, "nofollow"},
		{[]string{"otherbot: nofollow, examplebot: noindex"}, nil, false, true, "noindex"},
		{[]string{"otherbot: noindex", "max-snippet: 5"}, nil, true, true, "max-snippet:5"},
		{[]string{"max-snippet:5, noindex"}, nil, false, true, "max-snippet:5 noindex"},
		{[]string{"max-image-preview: none, max-video-preview:3, nofollow"}, nil, true, false, "max-image-preview:none max-video-preview:3 nofollow"},
		{[]string{"*: noindex"}, nil, false, true, "noindex"},
		{[]string{"unavailable_after: Friday, 25-Jun-10 15:00:00 PST, noindex"}, nil, false, true, "unavailable_after:Friday, 25-Jun-10 15:00:00 PST noindex"},
		{[]string{"", ",", ":", "examplebot:"}, nil, true, true, ""},
	} {
		d := PageDirectives("ExampleBot", c.headers, c.metas)
		if d.NoIndex == c.index || d.NoFollow == c.follow || strings.Join(d.Terms(), " ") != c.terms {
			t.Errorf("%q %q: %+v", c.headers, c.metas, d)
		}
	}
}

// TestOtherDirectives covers the other directives. The strictest of several values applies.
func TestOtherDirectives(t *testing.T) {
	d := PageDirectives("x", []string{"noarchive, nosnippet", "noimageindex"}, metas("notranslate, max-snippet:100, max-snippet:20, max-snippet:-1, max-video-preview:0, max-image-preview:large, max-image-preview:standard"))
	if !d.NoArchive || !d.NoSnippet || !d.NoImageIndex || !d.NoTranslate || d.NoIndex || d.NoFollow || d.MaxImagePreview != "standard" {
		t.Errorf("%+v", d)
	}
	if n, ok := d.MaxSnippet.Max(); n != 20 || !ok {
		t.Error(n, ok)
	}
	if n, ok := d.MaxVideoPreview.Max(); n != 0 || !ok {
		t.Error(n, ok)
	}
	if !d.Has("NoArchive") || d.Has("archive") {
		t.Error("Has")
	}
	if d := PageDirectives("x", nil, metas("nocache, max-snippet:0, max-snippet:many, max-image-preview:huge")); !d.NoArchive || !d.NoSnippet || d.MaxImagePreview != "" {
		t.Errorf("%+v", d)
	}
	if _, ok := PageDirectives("x", nil, metas("max-snippet:-1")).MaxSnippet.Max(); ok {
		t.Error("-1 is no limit")
	}
}

// TestUnavailableAfter covers the date formats found in practice. The earliest date applies.
func TestUnavailableAfter(t *testing.T) {
	want := time.Date(2010, 6, 25, 15, 0, 0, 0, time.UTC)
	for _, s := range []string{
		"25 Jun 2010 15:00:00 GMT", "25-Jun-2010 15:00:00 GMT", "25-Jun-2010 10:00:00 EST", "25 Jun 2010 08:00:00 PDT",
		"Fri, 25 Jun 2010 15:00:00 GMT", "Friday, 25-Jun-10 15:00:00 GMT", "Friday, 25-Jun-2010 15:00:00 UTC",
		"2010-06-25T15:00:00Z", "2010-06-25T17:00:00+02:00", "2010-06-25T15:00", "2010-06-25 15:00:00", "25 Jun 2010 17:00:00 +0200",
		"Fri, 25 Jun 2010 17:00:00 +0200", "Fri Jun 25 15:00:00 2010", "25 Jun 2010 15:00:00", "25 Jun 2010 15:00:00 XYZ",
	} {
		for _, d := range []Directives{
			PageDirectives("x", []string{"unavailable_after: " + s}, nil),
			PageDirectives("x", nil, metas("noarchive, unavailable_after:"+s+", nofollow")),
		} {
			if !d.UnavailableAfter.Equal(want) || d.Unavailable(want) || !d.Unavailable(want.Add(time.Second)) || d.NoIndex {
				t.Errorf("%s: %v %q", s, d.UnavailableAfter, d.Terms())
			}
		}
	}
	d := PageDirectives("x", nil, metas("unavailable_after: 2012-01-01, unavailable_after: 2011-01-01, unavailable_after: some day"))
	if d.UnavailableAfter.Year() != 2011 {
		t.Error(d.UnavailableAfter)
	}
	if (Directives{}).Unavailable(want) {
		t.Error("never said")
	}
}

// TestDirectivesOf1996 checks the table of the 1996 workshop and its rules for conflicts.
func TestDirectivesOf1996(t *testing.T) {
	for content, want := range map[string][2]bool{ // values: may the page be indexed, may its links be followed
		"":                      {true, true},
		"ALL":                   {true, true},
		"INDEX, FOLLOW":         {true, true},
		"NONE":                  {false, false},
		"NOINDEX, NOFOLLOW":     {false, false},
		"noindex":               {false, false},
		"nofollow":              {true, false},
		"NOINDEX, FOLLOW":       {false, true},
		"FOLLOW, NOFOLLOW":      {true, true},
		"NOFOLLOW, FOLLOW":      {true, true},
		"NONE, FOLLOW":          {false, true},
		"NONE, ALL":             {true, true},
		"NOINDEX, NOFOLLOW,ALL": {true, true},
		"INDEX, NOINDEX":        {false, true},
		"noindex, noarchive":    {false, false},
	} {
		d := PageDirectives("x", nil, metas(content), WithDialect(Revisited1996))
		if d.NoIndex == want[0] || d.NoFollow == want[1] {
			t.Errorf("%q: %+v", content, d)
		}
	}
}

// TestPageAddressAndState covers the meta elements of 1996 that describe a page's address and state.
func TestPageAddressAndState(t *testing.T) {
	d := PageDirectives("x", nil, []Meta{
		{"URL", " https://www.example.com/page "}, {"url", "https://second.example/"}, {"Document-State", "DYNAMIC"},
		{"keywords", "one, two words ,,three"}, {"DESCRIPTION", ""}, {"DESCRIPTION", "What it is."},
	})
	if d.URL != "https://www.example.com/page" || d.DocumentState != "dynamic" || d.Description != "What it is." ||
		!slices.Equal(d.Keywords, []string{"one", "two words", "three"}) || len(d.Terms()) != 0 {
		t.Errorf("%+v", d)
	}
}

// TestTermsAreBounded reads a page with an excessive number of directives.
func TestTermsAreBounded(t *testing.T) {
	d := PageDirectives("x", []string{strings.Repeat("a,b c,", 100_000)}, metas("noindex"))
	if n := len(d.terms); n != maxTerms {
		t.Error(n)
	}
}
