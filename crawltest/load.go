package crawltest

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/amble-crawler/amble/crawltest/fixture"
	"github.com/amble-crawler/amble/weburl"
)

// Capture is the type fixture.Capture, which records web archives for [Web.Load].
type Capture = fixture.Capture

// Load adds the pages of a txtar archive. An error in the archive fails the test with a message that contains the line.
//
// Each file of the archive is one answer of one URL. Its marker line consists of the URL and attributes, separated by
// blanks:
//
//	-- https://a.example/path status=404 type=text/plain latency=200ms forbidden --
//
// The value of an attribute, or a part of it, may be in double quotes and then contain blanks, and "" for a quote.
// The attributes:
//
//	status=404             the status code; 200, or 302 with a location
//	type=text/plain        Content-Type; "type=" sends none; text/html, or text/plain for /robots.txt
//	location=/x            the Location field
//	header=Name:value      a field of the answer's header; may be repeated
//	no-newline             the body ends before the last line end
//	base64                 the body is encoded in base64 (RFC 4648 section 4), in any number of lines
//	latency=200ms          the time until the answer begins
//	at=10m                 this version is served from then on; the URL has several files
//	forbidden              robots.txt forbids this URL
//	forbids=/p/*,/q        on /robots.txt: what this version forbids
//	crawl-delay=5s         on /robots.txt: the delay that this version asks for
//	address=192.0.2.7      the site's addresses, separated by commas; once for a name is enough
//	fault=NAME[:ARGS]      a fault of this page, see below; may be repeated
//	site-fault=NAME[:ARGS] a fault of the whole site, including DNS and connections
//
// Durations have the form of time.ParseDuration. A fault is one of
//
//	hang  reset  cut:N  reset-after:N  stall:N  slow:N/PAUSE  fail:STATUS
//	retry-after:STATUS/WAIT  retry-date:STATUS/WAIT  too-fast:GAP/WAIT
//	nxdomain  dns-failure  dns-timeout  refuse  no-connect  reset-on-connect  slow-connect:D
//	tls-alert  wrong-certificate  expired-certificate
//
// and may be followed by +first:N, +every:N, +from:D and +until:D, which limit it. The text before the first file is
// a comment. An archive has each URL once, or with another at=, and at most fixture.MaxSize bytes.
func (w *Web) Load(archive []byte) {
	w.tb.Helper()
	if err := w.load("fixture", archive); err != nil {
		w.fatal("%v", err)
	}
}

// LoadFile is [Web.Load] with the content of a file.
func (w *Web) LoadFile(path string) {
	w.tb.Helper()
	b, err := readFixture(path)
	if err == nil {
		err = w.load(path, b)
	}
	if err != nil {
		w.fatal("%v", err)
	}
}

// readFixture reads a file, but not more than is necessary to see that it is too large.
func readFixture(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, fixture.MaxSize+1))
	return b, errors.Join(err, f.Close())
}

func (w *Web) load(file string, archive []byte) error {
	if len(archive) > fixture.MaxSize {
		return fmt.Errorf("%s: the archive has more than %d MiB: capture fewer pages", file, fixture.MaxSize>>20)
	}
	a := txtar.Parse(archive)
	if len(a.Files) == 0 {
		return fmt.Errorf("%s: no files in the archive: each begins with a line such as -- https://a.example/ --", file)
	}
	line := 1 + strings.Count(string(a.Comment), "\n")
	lines := map[versionOf]int{}
	for _, f := range a.Files {
		p, err := w.loadPage(f)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", file, line, err)
		}
		if first := lines[p]; first > 0 {
			return fmt.Errorf("%s:%d: %s is in line %d already: remove one, or say with at= when it changes", file, line, p.url, first)
		}
		lines[p] = line
		line += 1 + strings.Count(string(f.Data), "\n")
	}
	return nil
}

// loading is a page whose marker line is being parsed.
type loading struct {
	site   *Site
	page   *Page
	status bool
}

// versionOf identifies a page of an archive: its URL, and the time from which the site has this version of it.
type versionOf struct {
	url string
	at  time.Duration
}

func (w *Web) loadPage(f txtar.File) (v versionOf, err error) {
	words, err := splitWords(f.Name)
	if err != nil {
		return v, err
	}
	u, err := weburl.Parse(words[0])
	if err != nil {
		return v, err
	}
	if u.String() != words[0] {
		return v, fmt.Errorf("%s must be written %s", words[0], u)
	}
	attrs, err := parseAttrs(words[1:])
	if err != nil {
		return v, err
	}
	body, err := bodyOf(f, words)
	if err != nil {
		return v, err
	}
	fx := &loading{site: w.site(u)}
	if u.PathQuery() == robotsPath {
		fx.page = fx.site.Robots(body)
	} else {
		fx.page = fx.site.Page(u.PathQuery(), body)
	}
	for _, a := range attrs {
		a.apply(fx)
	}
	return versionOf{fx.site.origin + canonPath(u.PathQuery()), fx.page.at}, nil
}

func bodyOf(f txtar.File, words []string) (string, error) {
	switch {
	case slices.Contains(words, "base64"):
		b, err := base64.StdEncoding.DecodeString(string(f.Data)) // ignores line ends
		return string(b), err
	case slices.Contains(words, "no-newline"):
		return strings.TrimSuffix(string(f.Data), "\n"), nil
	}
	return string(f.Data), nil
}

// splitWords splits a line at blanks outside of double quotes and removes the quotes; two of them inside quotes mean
// one.
func splitWords(line string) ([]string, error) {
	var words []string
	var word []byte
	quoted, begun := false, false
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '"' && quoted && strings.HasPrefix(line[i+1:], `"`):
			word = append(word, c)
			i++
		case c == '"':
			quoted, begun = !quoted, true
		case !quoted && (c == ' ' || c == '\t'):
			if begun {
				words = append(words, string(word))
			}
			word, begun = word[:0], false
		default:
			word, begun = append(word, c), true
		}
	}
	if quoted {
		return nil, fmt.Errorf("quote not closed in %q", line)
	}
	if begun {
		words = append(words, string(word))
	}
	if len(words) == 0 {
		return nil, errors.New("marker without URL")
	}
	return words, nil
}

// attr is an attribute that has been checked. It is applied when the whole line is known to be valid.
type attr struct{ apply func(*loading) }

func parseAttrs(words []string) ([]attr, error) {
	attrs := make([]attr, len(words))
	for i, word := range words {
		key, value, has := strings.Cut(word, "=")
		apply, err := parseAttr(key, value, has)
		if err != nil {
			return nil, fmt.Errorf("attribute %q: %w", word, err)
		}
		attrs[i] = attr{apply}
	}
	return attrs, nil
}

func parseAttr(key, value string, has bool) (func(*loading), error) {
	plain := map[string]func(*loading){"forbidden": func(f *loading) { f.page.Forbidden() }, "base64": func(*loading) {}, "no-newline": func(*loading) {}}[key]
	switch {
	case plain != nil && has:
		return nil, errors.New("takes no value")
	case plain != nil:
		return plain, nil
	case !has:
		return nil, errors.New("needs a value")
	}
	switch key {
	case "status":
		n, err := parseStatus(value)
		return func(f *loading) { f.page.Status(n); f.status = true }, err
	case "type":
		return func(f *loading) { f.page.Type(value) }, nil
	case "location":
		return func(f *loading) {
			f.page.Location(value)
			if !f.status {
				f.page.Status(302)
			}
		}, nil
	case "header":
		k, v, ok := strings.Cut(value, ":")
		if !ok || k == "" {
			return nil, errors.New("wants Name:value")
		}
		return func(f *loading) { f.page.Header(k, strings.TrimSpace(v)) }, nil
	case "forbids":
		paths := strings.Split(value, ",")
		return func(f *loading) { f.page.Forbids(paths...) }, checkPaths(paths)
	case "address":
		return parseAddress(value)
	case "fault", "site-fault":
		return parseFaultAttr(key, value)
	}
	return parseTimeAttr(key, value)
}

func parseTimeAttr(key, value string) (func(*loading), error) {
	set := map[string]func(*Page, time.Duration) *Page{
		"latency": (*Page).Latency, "at": (*Page).At, "crawl-delay": (*Page).Delays,
	}[key]
	if set == nil {
		return nil, errors.New("unknown")
	}
	d, err := parseDuration(value)
	return func(f *loading) { set(f.page, d) }, err
}

func parseStatus(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 200 || n > 999 {
		return 0, fmt.Errorf("%q is not a final status code", s)
	}
	return n, nil
}

func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err == nil && d < 0 {
		err = fmt.Errorf("negative duration %q", s)
	}
	return d, err
}

func checkPaths(paths []string) error {
	for _, p := range paths {
		if !strings.HasPrefix(p, "/") || strings.Contains(p, "#") {
			return fmt.Errorf("path %q must begin with a slash and have no fragment", p)
		}
	}
	return nil
}
