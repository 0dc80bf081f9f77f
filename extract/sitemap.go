package extract

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"strconv"
	"time"
)

// SitemapOptions limit how much of a sitemap is read. The zero value is the protocol's limits (sitemaps.org,
// "Sitemap file guidelines").
type SitemapOptions struct {
	MaxEntries int   // 0 means 50,000
	MaxBytes   int64 // after decompression; 0 means 50 MiB
}

const (
	defaultEntries = 50_000
	defaultBytes   = 50 << 20
	maxLoc         = 8 << 10 // bytes of an address; longer ones are skipped
	maxField       = 64      // bytes of any other field
)

// SitemapEntry is one address of a sitemap or of a sitemap index.
type SitemapEntry struct {
	Loc        string  // as written, without the blanks around it
	LastMod    string  // as written; see Modified
	ChangeFreq string  // as written, "" if missing
	Priority   float64 // 0 to 1; 0.5 if missing
	Sitemap    bool    // it is the address of another sitemap
}

// Modified returns LastMod as a time, if it is a date of the W3C profile of ISO 8601 (sitemaps.org), possibly the
// year alone, or one of RSS (RFC 822). A date without time zone is taken as UTC.
func (e SitemapEntry) Modified() (t time.Time, ok bool) {
	for _, layout := range [...]string{
		time.DateOnly, time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", time.DateTime, "2006-01", "2006",
		"Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05 MST", "2 Jan 2006 15:04:05 -0700", "2 Jan 2006 15:04:05 MST",
	} {
		if t, err := time.Parse(layout, e.LastMod); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// ErrNotSitemap is the error for a document in none of the sitemap formats.
var ErrNotSitemap = errors.New("extract: not a sitemap")

// SitemapReader reads a sitemap entry by entry and keeps none, so its memory does not depend on the size of the
// sitemap. It is not safe for concurrent use.
type SitemapReader struct {
	limit   limitReader
	text    *bufio.Reader // of a text sitemap
	xml     *xmlReader    // of the others
	feed    *feed         // of RSS and Atom; uses xml
	o       SitemapOptions
	entries int
	cut     bool
	err     error

	entry  SitemapEntry
	prefix string // namespace prefix of the open entry
	open   bool
	rooted bool
	field  sitemapField
	value  []byte
}

// Sitemap returns a reader for a sitemap (sitemaps.org): an XML urlset or sitemapindex with any namespace prefixes;
// an RSS or Atom feed, whose entries are the addresses; or a text file with one address per line. Each may be
// compressed by gzip, which is recognised by its first bytes. The text is UTF-8, with or without a byte order mark.
// Entities of a document type declaration are not expanded.
func Sitemap(r io.Reader, o SitemapOptions) *SitemapReader {
	if o.MaxEntries == 0 {
		o.MaxEntries = defaultEntries
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultBytes
	}
	return &SitemapReader{limit: limitReader{r: io.LimitReader(r, o.MaxBytes+1), left: o.MaxBytes}, o: o}
}

// Next reads the next entry. The error is io.EOF after the last one, [ErrNotSitemap], or the error of the
// underlying reader; the entries before it are valid.
func (s *SitemapReader) Next() (SitemapEntry, error) {
	if s.err == nil && s.text == nil && s.xml == nil {
		s.err = s.begin()
	}
	if s.err != nil {
		return SitemapEntry{}, s.err
	}
	e, err := s.read()
	if err == nil && s.entries == s.o.MaxEntries {
		s.cut = true
		err = io.EOF
	}
	if err != nil {
		s.err = err
		return SitemapEntry{}, err
	}
	s.entries++
	return e, nil
}

// Cut reports whether the sitemap exceeded the limits. It is final once Next has returned io.EOF.
func (s *SitemapReader) Cut() bool { return s.cut || s.limit.cut }

// begin determines the format from the first bytes.
func (s *SitemapReader) begin() error {
	br := bufio.NewReaderSize(s.limit.r, xmlBuffer)
	s.limit.r = br
	if magic, _ := br.Peek(2); string(magic) == "\x1f\x8b" {
		z, err := gzip.NewReader(br)
		if err != nil {
			return err
		}
		s.limit.r = z
	}
	br = bufio.NewReaderSize(&s.limit, xmlBuffer)
	if bom, _ := br.Peek(3); string(bom) == "\ufeff" {
		_, _ = br.Discard(3)
	}
	for {
		c, err := br.ReadByte()
		if err != nil {
			return err
		}
		if isSpace(c) {
			continue
		}
		_ = br.UnreadByte()
		if c == '<' {
			s.xml = &xmlReader{r: br}
		} else {
			s.text = br
		}
		return nil
	}
}

func (s *SitemapReader) read() (SitemapEntry, error) {
	switch {
	case s.text != nil:
		return s.readLine()
	case s.feed != nil:
		return s.readFeed()
	}
	return s.readXML()
}

// readLine finds the next line that is an address.
func (s *SitemapReader) readLine() (SitemapEntry, error) {
	for long := false; ; {
		line, err := s.text.ReadSlice('\n')
		whole := !long
		long = errors.Is(err, bufio.ErrBufferFull)
		if whole && !long && len(line) <= maxLoc {
			loc := trimSpace(string(line))
			if hasPrefixFold(loc, "http://") || hasPrefixFold(loc, "https://") {
				return SitemapEntry{Loc: loc, Priority: defaultPriority}, nil
			}
		}
		if err != nil && !long {
			return SitemapEntry{}, s.textEnd(err)
		}
	}
}

// textEnd returns the error after the last line: a file without any address is not a sitemap.
func (s *SitemapReader) textEnd(err error) error {
	if errors.Is(err, io.EOF) && s.entries == 0 {
		return ErrNotSitemap
	}
	return err
}

const defaultPriority = 0.5

// parsePriority returns a priority from 0 to 1, or the default for anything else.
func parsePriority(s string) float64 {
	p, err := strconv.ParseFloat(s, 64)
	if err != nil || !(p >= 0 && p <= 1) {
		return defaultPriority
	}
	return p
}

// limitReader reads up to left bytes and records whether there were more.
type limitReader struct {
	r    io.Reader
	left int64
	cut  bool
}

func (l *limitReader) Read(p []byte) (int, error) {
	if l.left == 0 {
		var one [1]byte
		n, err := io.ReadFull(l.r, one[:])
		l.cut = l.cut || n > 0
		if n > 0 {
			return 0, io.EOF
		}
		return 0, err
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}
