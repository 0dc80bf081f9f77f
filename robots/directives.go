package robots

import (
	"strconv"
	"strings"
	"time"
)

// Meta is a META element of a parsed document: one with a name, or with http-equiv.
type Meta struct{ Name, Content string }

// Directives are a page's instructions to robots, in META elements and the headers X-Robots-Tag and Robots-Tag. All prohibitions found
// apply; permissions are the default and change nothing. The zero Directives forbid nothing.
type Directives struct {
	NoIndex      bool // noindex, none: the page must not be shown in results; its links may be followed
	NoFollow     bool // nofollow, none: the page's links must not be followed
	NoArchive    bool // noarchive, nocache
	NoSnippet    bool // nosnippet, max-snippet:0
	NoImageIndex bool
	NoTranslate  bool

	MaxSnippet       Limit     // limit in characters
	MaxVideoPreview  Limit     // limit in seconds
	MaxImagePreview  string    // "none", "standard" or "large": the smallest that was named; "": no limit
	UnavailableAfter time.Time // zero if not set; see [Directives.Unavailable]

	URL           string   // META URL (1996): the page's absolute address, as written
	DocumentState string   // META DOCUMENT-STATE (1996), lower case: "static" or "dynamic"; "" without one
	Keywords      []string // META KEYWORDS
	Description   string   // META DESCRIPTION

	terms []term
}

// term is one directive that applies to the robot, and where it was found.
type term struct {
	name   string // lower case
	value  string // text after the colon; "" if there is none
	source Origin
}

// Limit is a maximum that a page sets. The zero Limit means no limit.
type Limit struct {
	n   int
	set bool
}

// Max returns the maximum. ok is false if there is no limit.
func (l Limit) Max() (n int, ok bool) { return l.n, l.set }

// lower returns the lower of the limits l and n. A negative n means no limit.
func (l Limit) lower(n int) Limit {
	if n < 0 || l.set && l.n <= n {
		return l
	}
	return Limit{n, true}
}

// Terms returns the directives for all robots and for this robot, in lower case, in order and without repetitions. It includes unknown
// directives.
func (d Directives) Terms() []string {
	var out []string
	seen := map[string]bool{}
	for _, t := range d.terms {
		s := t.name
		if t.value != "" {
			s += ":" + t.value
		}
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// Has reports whether a directive of this name applies, whatever its value. Case is ignored.
func (d Directives) Has(name string) bool {
	for _, t := range d.terms {
		if foldEqual(t.name, name) {
			return true
		}
	}
	return false
}

// Unavailable reports whether the page asks to be treated as gone at that time.
func (d Directives) Unavailable(at time.Time) bool {
	return !d.UnavailableAfter.IsZero() && at.After(d.UnavailableAfter)
}

// maxTerms limits the directives of a page that are read.
const maxTerms = 512

// PageDirectives reads the values of a page's X-Robots-Tag headers and its META elements for the robot with this product token. metas
// must contain only elements of the parsed document, not of comments or scripts.
//
// With [WithDialect]([Revisited1996]) the terms have the meaning that the Distributed Indexing Workshop of 1996 gave them: ALL overrides
// everything else, FOLLOW overrides NOFOLLOW, and NOINDEX also forbids following links if nothing is said about links. Other dialects
// change nothing.
func PageDirectives(product string, headers []string, metas []Meta, opts ...Option) Directives {
	o := optionsOf(opts)
	var d Directives
	for _, h := range headers {
		d.readHeader(h, product)
	}
	for _, h := range o.robotsTag {
		d.readRobotsTag(h, product)
	}
	for _, m := range metas {
		d.readMeta(m, product)
	}
	d.apply()
	if o.dialect == Revisited1996 {
		d.revisit()
	}
	return d
}

// readMeta reads one META element.
func (d *Directives) readMeta(m Meta, product string) {
	content := strings.TrimSpace(m.Content)
	switch name := strings.TrimSpace(m.Name); {
	case foldEqual(name, "robots") || product != "" && foldEqual(name, product):
		d.readTerms(content, originMeta)
	case content == "":
	case foldEqual(name, "url") && d.URL == "":
		d.URL = content
	case foldEqual(name, "document-state") && d.DocumentState == "":
		d.DocumentState = strings.ToLower(content)
	case foldEqual(name, "description") && d.Description == "":
		d.Description = content
	case foldEqual(name, "keywords") && d.Keywords == nil:
		d.Keywords = splitKeywords(content)
	}
}

func splitKeywords(content string) (out []string) {
	for k := range strings.SplitSeq(content, ",") {
		if k = strings.TrimSpace(k); k != "" {
			out = append(out, k)
		}
	}
	return out
}

// readHeader reads one X-Robots-Tag value. A name and a colon before a directive mean that it and the following directives, up to the
// next such name, apply only to the robot of that name.
func (d *Directives) readHeader(value, product string) {
	ours := true
	for chunk := range eachChunk(value) {
		if name, rest, ok := strings.Cut(chunk, ":"); ok && !takesValue(name) {
			name = strings.TrimSpace(name)
			ours = name == "*" || foldEqual(name, "robots") || product != "" && foldEqual(name, product)
			chunk = rest
		}
		if ours {
			d.readChunk(chunk, originHeader)
		}
	}
}

// readTerms reads a list of directives that contains no names of robots.
func (d *Directives) readTerms(list string, from Origin) {
	for chunk := range eachChunk(list) {
		d.readChunk(chunk, from)
	}
}

// eachChunk splits a list at commas and semicolons. The comma of a date after unavailable_after ("Friday, 25-Jun-10 ...", RFC
// 850) does not split it.
func eachChunk(list string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for list != "" {
			end := strings.IndexAny(list, ",;")
			if end < 0 {
				end = len(list)
			}
			if end < len(list) && endsInWeekday(list[:end]) {
				if next := strings.IndexAny(list[end+1:], ",;"); next >= 0 {
					end += 1 + next
				} else {
					end = len(list)
				}
			}
			if !yield(strings.TrimSpace(list[:end])) || end == len(list) {
				return
			}
			list = list[end+1:]
		}
	}
}

// endsInWeekday reports whether s is "unavailable_after", a colon and only a day of the week.
func endsInWeekday(s string) bool {
	i := indexFold(s, "unavailable_after")
	if i < 0 {
		return false
	}
	switch day := strings.ToLower(strings.Trim(s[i+len("unavailable_after"):], ": \t")); day {
	case "mon", "tue", "wed", "thu", "fri", "sat", "sun",
		"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday":
		return true
	}
	return false
}

// takesValue reports whether the name before a colon is that of a directive with a value, not of a robot.
func takesValue(name string) bool {
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "max-snippet", "max-image-preview", "max-video-preview", "unavailable_after":
		return true
	}
	return false
}

// readChunk reads the text between two commas: one directive, or several known directives without commas between them.
func (d *Directives) readChunk(chunk string, from Origin) {
	name, value, _ := strings.Cut(chunk, ":")
	name, value = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)
	if name == "" || len(d.terms) >= maxTerms {
		return
	}
	words := strings.Fields(name)
	if value == "" && len(words) > 1 && allKnown(words) {
		for _, w := range words {
			d.terms = append(d.terms, term{w, "", from})
		}
		return
	}
	d.terms = append(d.terms, term{name, value, from})
}

func allKnown(words []string) bool {
	for _, w := range words {
		switch w {
		case "all", "none", "index", "noindex", "follow", "nofollow", "archive", "noarchive", "nocache",
			"snippet", "nosnippet", "noimageindex", "notranslate", "noai", "noimageai", "noml":
		default:
			return false
		}
	}
	return true
}

// apply sets the prohibitions that follow from the directives.
func (d *Directives) apply() {
	for _, t := range d.terms {
		switch t.name {
		case "none":
			d.NoIndex, d.NoFollow = true, true
		case "noindex":
			d.NoIndex = true
		case "nofollow":
			d.NoFollow = true
		case "noarchive", "nocache":
			d.NoArchive = true
		case "nosnippet":
			d.NoSnippet = true
		case "noimageindex":
			d.NoImageIndex = true
		case "notranslate":
			d.NoTranslate = true
		default:
			d.applyValue(t)
		}
	}
}

// applyValue applies a directive with a value. If the value cannot be read, the directive only remains in Terms.
func (d *Directives) applyValue(t term) {
	switch t.name {
	case "max-snippet":
		if n, err := strconv.Atoi(t.value); err == nil {
			d.MaxSnippet = d.MaxSnippet.lower(n)
			d.NoSnippet = d.NoSnippet || n == 0
		}
	case "max-video-preview":
		if n, err := strconv.Atoi(t.value); err == nil {
			d.MaxVideoPreview = d.MaxVideoPreview.lower(n)
		}
	case "max-image-preview":
		d.MaxImagePreview = smallerPreview(d.MaxImagePreview, strings.ToLower(t.value))
	case "unavailable_after":
		at, ok := parseAnyDate(t.value)
		if ok && (d.UnavailableAfter.IsZero() || at.Before(d.UnavailableAfter)) {
			d.UnavailableAfter = at
		}
	}
}

func smallerPreview(a, b string) string {
	for _, size := range [...]string{"none", "standard", "large"} {
		if a == size || b == size {
			return size
		}
	}
	return a
}

// revisit gives the directives of 1996 their meaning of 1996.
func (d *Directives) revisit() {
	d.NoIndex = d.Has("noindex") || d.Has("none")
	d.NoFollow = d.Has("nofollow") || d.Has("none")
	if d.Has("noindex") && !d.Has("index") {
		d.NoFollow = true // without FOLLOW, NOINDEX also forbids following links
	}
	if d.Has("follow") {
		d.NoFollow = false
	}
	if d.Has("all") {
		d.NoIndex, d.NoFollow = false, false
	}
}

// dateLayouts are the formats in which unavailable_after occurs: RFC 822 and its successors, RFC 850, ISO 8601, and those in the examples
// of search engines. The zone is removed before.
var dateLayouts = [...]string{
	"Mon, 2 Jan 2006 15:04:05",
	"Monday, 2-Jan-06 15:04:05",
	"Monday, 2-Jan-2006 15:04:05",
	"Mon, 2-Jan-2006 15:04:05",
	"2 Jan 2006 15:04:05",
	"2 Jan 06 15:04:05",
	"2-Jan-2006 15:04:05",
	"2-Jan-06 15:04:05",
	"2 Jan 2006 15:04",
	"2-Jan-2006 15:04",
	"Mon Jan 2 15:04:05 2006",
	"2006-01-02T15:04:05",
	"2006-01-02T15:04",
	"2006-01-02 15:04:05",
	"2006-01-02",
	"2-Jan-2006",
	"2 Jan 2006",
}

// zones maps names of time zones to hours from UTC: those of RFC 5322 section 4.3, and the two that European pages use.
var zones = map[string]int{
	"ut": 0, "utc": 0, "gmt": 0, "z": 0,
	"est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7,
	"cet": 1, "cest": 2,
}

// parseAnyDate parses a date with or without a zone. Without a zone, or with one of unknown name, the date is in UTC.
func parseAnyDate(s string) (time.Time, bool) {
	for _, layout := range [...]string{time.RFC3339, time.RFC1123Z, "2 Jan 2006 15:04:05 -0700", "2-Jan-2006 15:04:05 -0700"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), true
		}
	}
	s, offset := cutZone(s)
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t.Add(-offset), true
		}
	}
	return time.Time{}, false
}

// cutZone removes the name of a zone from the end of a date.
func cutZone(s string) (date string, offset time.Duration) {
	s = strings.TrimSpace(s)
	i := strings.LastIndexByte(s, ' ')
	if i < 0 {
		return strings.TrimSuffix(s, "Z"), 0
	}
	name := s[i+1:]
	if name == "" || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") != "" {
		return s, 0
	}
	return s[:i], time.Duration(zones[strings.ToLower(name)]) * time.Hour
}
