package extract

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"strconv"
	"time"
)

// SitemapOptions limit the part of a sitemap that is read. The zero value has the limits of the protocol (sitemaps.org, "Sitemap file
// guidelines").
type SitemapOptions struct {
	MaxEntries int   // entries; 0 means 50,000
	MaxBytes   int64 // bytes after decompression; 0 means 50 MiB
}

const (
	defaultEntries = 50_000
	defaultBytes   = 50 << 20
	maxLoc         = 8 << 10 // maximum length of a URL in bytes; longer ones are skipped
	maxField       = 64      // maximum length of any other field in bytes
)

// SitemapEntry is one entry of a sitemap or of a sitemap index.
type SitemapEntry struct {
	Loc        string  // URL as written, without the spaces around it
	LastMod    string  // as written; see Modified
	ChangeFreq string  // as written; "" if missing
	Priority   float64 // 0 to 1; 0.5 if missing
	Sitemap    bool    // the URL is that of another sitemap
}

// Modified returns LastMod as a time. ok is true if it is a date of the W3C profile of ISO 8601 (sitemaps.org), which may be only a year,
// or of RSS (RFC 822). A date without time zone is read as UTC.
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

// ErrNotSitemap is returned for a document that has none of the sitemap formats.
var ErrNotSitemap = errors.New("extract: not a sitemap")

// SitemapReader reads a sitemap entry by entry and stores none, so the memory it needs does not depend on the size of the sitemap. It is
// not safe for concurrent use.
type SitemapReader struct {
	limit   limitReader
	text    *bufio.Reader // reader of a text sitemap
	xml     *xmlReader    // reader of an XML sitemap or a feed
	feed    *feed         // reader of RSS and Atom, which uses xml
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

// Sitemap returns a reader for a sitemap (sitemaps.org): an XML urlset or sitemapindex with any namespace prefixes; an RSS or Atom feed,
// of whose entries it returns the URLs; or a text file with one URL per line. Each format may be compressed with gzip, which is
// recognised by its first bytes. The text is UTF-8, with or without a byte order mark. Entities of a document type declaration are not
// expanded.
func Sitemap(r io.Reader, o SitemapOptions) *SitemapReader {
	if o.MaxEntries == 0 {
		o.MaxEntries = defaultEntries
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultBytes
	}
	return &SitemapReader{limit: limitReader{r: io.LimitReader(r, o.MaxBytes+1), left: o.MaxBytes}, o: o}
}

// Next reads the next entry. It returns io.EOF after the last entry, [ErrNotSitemap], or the error of the underlying reader. Entries
// returned before an error are valid.
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

// Cut reports whether the sitemap exceeded a limit. The result is final when Next has returned io.EOF.
func (s *SitemapReader) Cut() bool { return s.cut || s.limit.cut }

// begin determines the format of the sitemap from its first bytes.
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

// readLine finds the next line that contains a URL.
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

// textEnd returns the error after the last line. A file without any URL is not a sitemap.
func (s *SitemapReader) textEnd(err error) error {
	if errors.Is(err, io.EOF) && s.entries == 0 {
		return ErrNotSitemap
	}
	return err
}

const defaultPriority = 0.5

// parsePriority returns a priority from 0 to 1. For any other text it returns the default.
func parsePriority(s string) float64 {
	p, err := strconv.ParseFloat(s, 64)
	if err != nil || !(p >= 0 && p <= 1) {
		return defaultPriority
	}
	return p
}

// limitReader reads at most left bytes and records whether there were more.
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
