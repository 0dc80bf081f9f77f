package warc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/sink"
)

// IndexLines calls f with an index line (CDXJ, see [Writer]) for each response in an archive file that ends at or before size, in no
// particular order. It reads the file's index, and of the file only the part after the last response in the index. A line is valid until f
// returns. The error is that of f or of the file system, or an *[ArchiveError].
func IndexLines(path string, size int64, f func(line []byte) error) error {
	file, err := safefile.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // opened only for reading
	end, err := oldLines(path, size, f)
	if err != nil {
		return err
	}
	for t := newCountingReader(file, end); t.n < size; {
		start := t.n
		r, err := readRecord(t, true)
		switch {
		case errors.Is(err, io.EOF), err != nil && t.n >= size:
			return nil
		case err != nil:
			return &ArchiveError{path, start, err}
		}
		if !r.isAnswer() || r.end > size {
			continue
		}
		at := sink.Location{File: filepath.Base(path), Offset: start, Length: r.end - start}
		if err := f(r.indexLine(&at)); err != nil {
			return err
		}
	}
	return nil
}

// oldLines calls f with the lines of the file's existing index, and returns the end of the last response in it.
func oldLines(path string, size int64, f func(line []byte) error) (end int64, err error) {
	in, err := safefile.Open(indexName(path))
	if err != nil {
		return 0, nil //nolint:nilerr // without an index the whole file is read
	}
	defer func() { _ = in.Close() }() // opened only for reading
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	lines.Split(wholeLines)
	for lines.Scan() {
		_, _, next, ok := indexed(lines.Bytes(), filepath.Base(path))
		if !ok || next > size {
			continue
		}
		if err := f(lines.Bytes()); err != nil {
			return 0, err
		}
		end = max(end, next)
	}
	return end, lines.Err()
}

// indexLine returns the index line for a record that was read from a file.
func (r *stored) indexLine(at *sink.Location) []byte {
	mime, status := "unk", "-"
	head, _ := r.message()
	if resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(head)), nil); err == nil {
		_ = resp.Body.Close() // the body is not needed
		status = strconv.Itoa(resp.StatusCode)
		if t, _, _ := bytes.Cut([]byte(resp.Header.Get("Content-Type")), []byte(";")); len(t) > 0 && len(t) <= maxMIME {
			mime = string(bytes.ToLower(bytes.TrimSpace(t)))
		}
	}
	if r.kind() == "revisit" {
		mime = "warc/revisit"
	}
	when, _ := time.Parse(time.RFC3339, r.get("WARC-Date")) // the zero time if the date is invalid
	b := when.UTC().AppendFormat(append([]byte(surt(r.target())), ' '), stamp)
	b = appendMember(append(b, " {"...), "url", r.target())
	b = appendMember(append(b, ','), "mime", mime)
	b = appendMember(append(b, ','), "status", status)
	b = appendMember(append(b, ','), "digest", r.get("WARC-Payload-Digest"))
	b = appendMember(append(b, ','), "length", strconv.FormatInt(at.Length, 10))
	b = appendMember(append(b, ','), "offset", strconv.FormatInt(at.Offset, 10))
	b = appendMember(append(b, ','), "filename", at.File)
	return append(b, "}\n"...)
}

// indexLine returns the index line for a response or revisit record, in the form of CDXJ 0.1.0 (specs.webrecorder.net/cdxj/0.1.0/). Numbers
// are strings, as readers of that form expect. The type of a revisit is warc/revisit.
func (c *capture) indexLine(at *sink.Location) []byte {
	b := make([]byte, 0, 512)
	b = append(b, surt(c.uri)...)
	b = append(b, ' ')
	b = c.at.UTC().AppendFormat(b, stamp)
	b = appendMember(append(b, " {"...), "url", c.uri)
	b = appendMember(append(b, ','), "mime", c.mime())
	b = appendMember(append(b, ','), "status", c.status())
	b = appendMember(append(b, ','), "digest", c.digest)
	b = appendMember(append(b, ','), "length", strconv.FormatInt(at.Length, 10))
	b = appendMember(append(b, ','), "offset", strconv.FormatInt(at.Offset, 10))
	b = appendMember(append(b, ','), "filename", at.File)
	return append(b, "}\n"...)
}

// maxMIME is the maximum length of a valid media type (RFC 6838 section 4.2).
const maxMIME = 127 + len("/") + 127

func (c *capture) mime() string {
	if c.earlier != nil || c.notModified() {
		return "warc/revisit"
	}
	if t := c.x.ContentType(); t != "" && len(t) <= maxMIME {
		return t
	}
	return "unk"
}

func (c *capture) status() string {
	if s := c.x.Status(); s != 0 {
		return strconv.Itoa(s)
	}
	return "-"
}

// appendMember appends a member of a JSON object.
func appendMember(b []byte, name, value string) []byte {
	b = append(b, '"')
	b = append(b, name...)
	b = append(b, `":"`...)
	for i := 0; i < len(value); {
		r, n := utf8.DecodeRuneInString(value[i:])
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < ' ':
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = utf8.AppendRune(b, r)
		}
		i += n
	}
	return append(b, '"')
}
