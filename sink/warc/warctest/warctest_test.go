package warctest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// draft is a record from which the test writes a file.
type draft struct {
	fields []Field
	block  string
	plain  func(string) string // changes the complete record
	member func([]byte) []byte // changes the compressed record
}

func (d *draft) set(name, value string) {
	i := slices.IndexFunc(d.fields, func(f Field) bool { return f.Name == name })
	switch {
	case i < 0:
		d.fields = append(d.fields, Field{name, value})
	case value == "":
		d.fields = slices.Delete(d.fields, i, i+1)
	default:
		d.fields[i].Value = value
	}
}

func (d *draft) bytes() []byte {
	var b strings.Builder
	b.WriteString("WARC/1.1\r\n")
	for _, f := range d.fields {
		fmt.Fprintf(&b, "%s: %s\r\n", f.Name, f.Value)
	}
	fmt.Fprintf(&b, "\r\n%s\r\n\r\n", d.block)
	plain := b.String()
	if d.plain != nil {
		plain = d.plain(plain)
	}
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write([]byte(plain))
	_ = z.Close()
	if d.member != nil {
		return d.member(out.Bytes())
	}
	return out.Bytes()
}

func id(n int) string { return fmt.Sprintf("<urn:uuid:00000000-0000-4000-8000-%012d>", n) }

const (
	name = "x-20260301120000-00000.warc.gz"
	date = "2026-03-01T12:00:00.5Z"
	head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
)

func newDraft(typ string, n int, contentType, block string, more ...string) *draft {
	d := &draft{block: block}
	d.set("WARC-Type", typ)
	d.set("WARC-Record-ID", id(n))
	d.set("WARC-Date", date)
	d.set("Content-Type", contentType)
	if typ != "warcinfo" {
		d.set("WARC-Target-URI", "http://www.x.test/a")
		d.set("WARC-Warcinfo-ID", id(0))
	}
	for i := 0; i < len(more); i += 2 {
		d.set(more[i], more[i+1])
	}
	return d
}

// file returns the records of a complete file without faults.
func file() []*draft {
	const request, response, fields = "application/http;msgtype=request", "application/http;msgtype=response", "application/warc-fields"
	get := "GET /a HTTP/1.1\r\nHost: www.x.test\r\n\r\n"
	return []*draft{
		newDraft("warcinfo", 0, fields, "software: x\r\n", "WARC-Filename", name),
		newDraft("request", 1, request, get, "WARC-Concurrent-To", id(2), "WARC-IP-Address", "192.0.2.1"),
		newDraft("response", 2, response, head+"hello", "WARC-Concurrent-To", id(1), "WARC-IP-Address", "192.0.2.1", "WARC-Payload-Digest", digest("", []byte("hello"))),
		newDraft("metadata", 3, fields, "via: http://x.test/\r\n", "WARC-Refers-To", id(2)),
		newDraft("revisit", 4, response, head, "WARC-Profile", identical, "WARC-Refers-To", id(2), "WARC-Refers-To-Date", date,
			"WARC-Refers-To-Target-URI", "http://www.x.test/a", "WARC-Truncated", "length", "WARC-Payload-Digest", digest("", []byte("hello"))),
	}
}

// write writes a file of the drafts and its index. The function index may change the lines of the index.
func write(t *testing.T, ds []*draft, index func([]string) []string) string {
	t.Helper()
	dir := t.TempDir()
	var out bytes.Buffer
	var lines []string
	for _, d := range ds {
		r := &Record{Fields: d.fields}
		if r.Get("Content-Length") == "" {
			d.set("Content-Length", fmt.Sprint(len(d.block)))
		}
		if r.Get("WARC-Block-Digest") == "" {
			d.set("WARC-Block-Digest", digest("", []byte(d.block)))
		}
		b := d.bytes()
		mime := map[string]string{"response": "text/html", "revisit": "warc/revisit"}[r.Type()]
		if mime != "" {
			lines = append(lines, fmt.Sprintf("test,x)/a 20260301120000 {\"url\":%q,\"mime\":%q,\"status\":\"200\",\"digest\":%q,\"length\":\"%d\",\"offset\":\"%d\",\"filename\":%q}\n",
				r.Get("WARC-Target-URI"), mime, r.Get("WARC-Payload-Digest"), len(b), out.Len(), name))
		}
		out.Write(b)
	}
	slices.Sort(lines)
	if index != nil {
		lines = index(lines)
	}
	for file, content := range map[string]string{name: out.String(), indexOf(name): strings.Join(lines, "")} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestGoodFile(t *testing.T) {
	rs, err := Read(write(t, file(), nil))
	if err != nil || len(rs) != 5 {
		t.Fatalf("%d records, %v", len(rs), err)
	}
	if got := Answers(rs); !slices.Equal(got, []string{"http://www.x.test/a", "http://www.x.test/a"}) || rs[3].Described("via") != "http://x.test/" || string(rs[2].Payload()) != "hello" {
		t.Errorf("%v, %q, %q", got, rs[3].Block, rs[2].Payload())
	}
}

// TestFaults puts one fault at a time into a correct file. The reader's error must contain the given text.
func TestFaults(t *testing.T) {
	set := func(n int, name, value string) func([]*draft) []*draft {
		return func(ds []*draft) []*draft { ds[n].set(name, value); return ds }
	}
	text := func(n int, old, is string) func([]*draft) []*draft {
		return func(ds []*draft) []*draft {
			ds[n].plain = func(s string) string { return strings.Replace(s, old, is, 1) }
			return ds
		}
	}
	block := func(n int, b string) func([]*draft) []*draft {
		return func(ds []*draft) []*draft { ds[n].block = b; return ds }
	}
	field := func(n int, f Field) func([]*draft) []*draft {
		return func(ds []*draft) []*draft { ds[n].fields = append(ds[n].fields, f); return ds }
	}
	for want, change := range map[string]func([]*draft) []*draft{
		"begins with":                               text(1, "WARC/1.1", "WARC/1.0"),
		"is not a valid field":                      text(1, "WARC-Type: ", "WARC Type: "),
		"has the value":                             text(1, "WARC-Type: ", "WARC-Type:  "),
		"the header has no end":                     func(ds []*draft) []*draft { ds[0].plain = func(s string) string { return s[:60] }; return ds },
		"is followed by":                            text(2, "hello", "hell"),
		"is followed by \"\\r\\n\"":                 func(ds []*draft) []*draft { ds[3].plain = func(s string) string { return s[:len(s)-2] }; return ds },
		"Content-Length is":                         set(1, "Content-Length", "+38"),
		"WARC-Type is":                              set(1, "WARC-Type", "continuation"),
		"WARC-Filename is not allowed in this type": set(1, "WARC-Filename", name),
		"X-Mine is not allowed in this type":        set(1, "X-Mine", "x"),
		"WARC-Date is repeated":                     field(1, Field{"WARC-Date", date}),
		"WARC-Record-ID is":                         set(3, "WARC-Record-ID", "urn:uuid:1"),
		"WARC-Date is":                              set(3, "WARC-Date", "2026-13-01T12:00:00Z"),
		"WARC-Date is \"2026-03-01T":                set(3, "WARC-Date", "2026-03-01T12:00:00+00:00"),
		"WARC-Block-Digest is":                      set(3, "WARC-Block-Digest", "md5:x"),
		"the block's digest is":                     set(3, "WARC-Block-Digest", digest("", []byte("x"))),
		"the payload's digest is":                   set(2, "WARC-Payload-Digest", digest("sha256:", []byte("x"))),
		"WARC-IP-Address is":                        set(3, "WARC-IP-Address", "192.0.2.01"),
		"WARC-Target-URI is":                        set(3, "WARC-Target-URI", "/a"),
		"WARC-Target-URI is \"http://x.test/{":      set(3, "WARC-Target-URI", "http://x.test/{a}"),
		"WARC-Target-URI is \"http://x.test/[":      set(3, "WARC-Target-URI", "http://x.test/[1]"),
		"WARC-Truncated is":                         set(3, "WARC-Truncated", "size"),
		"WARC-Profile is":                           set(4, "WARC-Profile", "http://x/"),
		"WARC-Protocol is":                          set(3, "WARC-Protocol", "HTTP/2"),
		"no WARC-Target-URI":                        set(3, "WARC-Target-URI", ""),
		"no WARC-Profile":                           set(4, "WARC-Profile", ""),
		"no Content-Type":                           set(3, "Content-Type", ""),
		"Content-Type is":                           set(3, "Content-Type", "text/plain"),
		"not a request":                             block(1, "GET /\r\n\r\n"),
		"not an answer":                             block(2, "200 OK\r\n\r\nhello"),
		"not a header section alone":                block(4, head+"hello"),
		"not a header section alone, trunc":         set(4, "WARC-Truncated", "time"),
		"via\" is not a valid field":                block(3, "via\r\n"),
		"does not begin with a warcinfo":            func(ds []*draft) []*draft { return ds[1:] },
		"WARC-Filename is":                          set(0, "WARC-Filename", "y"),
		"WARC-Warcinfo-ID is":                       set(3, "WARC-Warcinfo-ID", id(7)),
		"a second one": func(ds []*draft) []*draft {
			return append(ds, newDraft("warcinfo", 8, "application/warc-fields", "a: b\r\n", "WARC-Filename", name))
		},
		"is not unique":                     set(3, "WARC-Record-ID", id(4)),
		"0 requests for it":                 set(1, "WARC-Concurrent-To", ""),
		"concurrent to " + id(9):            set(1, "WARC-Concurrent-To", id(9)),
		"concurrent to a record that names": set(2, "WARC-Concurrent-To", ""),
		"concurrent to a metadata":          set(1, "WARC-Concurrent-To", id(3)),
		"of what it is concurrent to":       set(1, "WARC-Date", "2026-03-01T12:00:01Z"),
		"is concurrent to \"192":            set(1, "WARC-IP-Address", "192.0.2.2"),
		"refers to " + id(9):                set(3, "WARC-Refers-To", id(9)),
		"refers to a request":               set(4, "WARC-Refers-To", id(1)),
		"refers to a response":              set(4, "WARC-Refers-To-Date", "2026-03-01T12:00:00Z"),
		"refers to a response of http://w":  set(4, "WARC-Refers-To-Target-URI", "http://y.test/"),
		"invalid header":                    func(ds []*draft) []*draft { ds[3].member = func(b []byte) []byte { return append(b, 0, 0) }; return ds },
		"invalid checksum": func(ds []*draft) []*draft {
			ds[3].member = func(b []byte) []byte { b[len(b)-8] ^= 1; return b }
			return ds
		},
	} {
		t.Run(want, func(t *testing.T) {
			if _, err := Read(write(t, change(file()), nil)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestTwoRecordsInOneMember(t *testing.T) {
	ds := file()
	ds[2].plain = func(s string) string {
		return s + strings.Replace(strings.Replace(s, id(2), id(7), 1), "response", "resource", 1)
	}
	if _, err := Read(write(t, ds, nil)); err == nil || !strings.Contains(err.Error(), "is followed by") {
		t.Errorf("%v", err)
	}
}

func TestFaultsOfIndexes(t *testing.T) {
	replace := func(old, is string) func([]string) []string {
		return func(ls []string) []string { ls[0] = strings.Replace(ls[0], old, is, 1); return ls }
	}
	offset, length := regexp.MustCompile(`"offset":"\d+"`), regexp.MustCompile(`"length":"\d+"`)
	for want, change := range map[string]func([]string) []string{
		"is not sorted":          func(ls []string) []string { slices.Reverse(ls); return ls },
		"in the middle":          func(ls []string) []string { ls[1] = strings.TrimSuffix(ls[1], "\n"); return ls },
		"in the index: false":    func(ls []string) []string { return ls[1:] },
		"twice true":             func(ls []string) []string { return append(ls, ls[1]) },
		"not three parts":        func(ls []string) []string { return append(ls, "x\n") },
		"invalid character":      replace(`{"url"`, `{url`),
		"unknown field":          replace(`{"url"`, `{"more":"","url"`),
		"filename is":            replace(name, "y"),
		"gzip: invalid header":   func(ls []string) []string { ls[0] = offset.ReplaceAllString(ls[0], `"offset":"1"`); return ls },
		"EOF":                    replace(`"offset":"`, `"offset":"9999`),
		"the record takes":       func(ls []string) []string { ls[0] = length.ReplaceAllString(ls[0], `"length":"400"`); return ls },
		"the record says":        replace(`"status":"200"`, `"status":"404"`),
		"MIME:text/html":         replace("text/html", "text/plain"),
		"Digest:sha1":            replace("sha1:", "sha1:A"),
		"the key is":             replace("test,x)", "test,y)"),
		"the key is test,x)/A":   replace("test,x)/a", "test,x)/A"),
		"the time is 2026030112": replace("20260301120000 ", "20260301120001 "),
	} {
		t.Run(want, func(t *testing.T) {
			if _, err := Read(write(t, file(), change)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestUnsortedIndexOfAnOpenFile(t *testing.T) {
	dir := write(t, file(), func(ls []string) []string { slices.Reverse(ls); return ls })
	if _, err := ReadUnsorted(dir); err != nil {
		t.Error(err)
	}
}

func TestIndexBesideNoFile(t *testing.T) {
	dir := write(t, file(), nil)
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "belongs to no file") {
		t.Errorf("%v", err)
	}
	if _, err := Read(filepath.Join(dir, "none")); err == nil {
		t.Error("a directory that is not there")
	}
}

func TestFramesOfZstd(t *testing.T) {
	// "hello", as compressed by the reference encoder: with content size and checksum; without both; without a frame.
	good := "\x28\xb5\x2f\xfd\x24\x05\x29\x00\x00hello\xa3\x6d\x9f\x88"
	for in, want := range map[string]string{
		good:               "",
		good[:len(good)-1]: "EOF",
		good[:9]:           "EOF",
		"\x28\xb5\x2f\xfd\x00\x00\x29\x00\x00hello": "both are required",
		"\x50\x2a\x4d\x18\x01\x00\x00\x00x":         "skippable",
		"plain":                                     "invalid",
		strings.Replace(good, "hello", "jello", 1):  "CRC",
	} {
		plain, n, err := zstdFrame([]byte(in))
		if want == "" && (err != nil || string(plain) != "hello" || n != len(in)) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %q, %d, %v", in, plain, n, err)
		}
	}
	if _, n, err := zstdFrame([]byte(good + good)); n != len(good) || err != nil {
		t.Errorf("%d bytes of two frames, %v", n, err)
	}
}
