package warctest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// entry is the JSON block of an index line (specs.webrecorder.net/cdxj/0.1.0/).
type entry struct {
	URL      string `json:"url"`
	MIME     string `json:"mime"`
	Status   string `json:"status"`
	Digest   string `json:"digest"`
	Length   string `json:"length"`
	Offset   string `json:"offset"`
	Filename string `json:"filename"`
}

// checkIndex looks up every response of a file by the index, using only its index line.
func checkIndex(dir, name string, rs []*Record, sorted bool) error {
	data, err := os.ReadFile(filepath.Join(dir, indexOf(name)))
	if err != nil {
		return err
	}
	if len(data) > 0 && data[len(data)-1] != '\n' {
		return fmt.Errorf("%s ends in the middle of a line", indexOf(name))
	}
	var lines []string
	for line := range bytes.Lines(data) {
		lines = append(lines, string(line))
	}
	var errs []error
	if sorted && !slices.IsSorted(lines) {
		errs = append(errs, fmt.Errorf("%s is not sorted", indexOf(name)))
	}
	found := map[string]bool{}
	for _, line := range lines {
		id, err := lookUp(dir, name, line)
		if err != nil || found[id] {
			errs = append(errs, fmt.Errorf("%s: %.200s: twice %v, %w", indexOf(name), line, found[id], err))
		}
		found[id] = true
	}
	for _, r := range rs {
		if found[r.ID()] != r.IsAnswer() {
			errs = append(errs, r.errorf("in the index: %v", found[r.ID()]))
		}
	}
	return errors.Join(errs...)
}

// lookUp follows an index line to its record, reading only the bytes of this record, and compares both. It returns the record's ID.
func lookUp(dir, name, line string) (id string, err error) {
	parts := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
	if len(parts) != 3 {
		return "", errors.New("not three parts")
	}
	var e entry
	dec := json.NewDecoder(strings.NewReader(parts[2]))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e); err != nil {
		return "", err
	}
	if e.Filename != name {
		return "", fmt.Errorf("filename is %s", e.Filename)
	}
	r, err := fetch(dir, e)
	if err != nil {
		return "", err
	}
	return r.ID(), errors.Join(e.compare(r), compareKey(parts[0], parts[1], r))
}

// fetch reads the record to which an entry points.
func fetch(dir string, e entry) (*Record, error) {
	offset, err1 := strconv.ParseInt(e.Offset, 10, 64)
	length, err2 := strconv.ParseInt(e.Length, 10, 64)
	f, err3 := os.Open(filepath.Join(dir, e.Filename))
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data := make([]byte, length)
	if _, err := f.ReadAt(data, offset); err != nil {
		return nil, err
	}
	next := gzipMember
	if strings.HasSuffix(e.Filename, ".zst") {
		next = zstdFrame
	}
	plain, n, err := next(data)
	if err == nil && int64(n) != length {
		err = fmt.Errorf("the record takes %d bytes", n)
	}
	if err != nil {
		return nil, err
	}
	return parse(plain)
}

// compare compares an index line with its record.
func (e *entry) compare(r *Record) error {
	head, _ := r.message()
	_, status, _ := strings.Cut(string(head), " ")
	mime := "warc/revisit"
	if r.Type() == "response" {
		mime = contentType(head)
	}
	want := entry{
		URL: r.Get("WARC-Target-URI"), MIME: mime, Status: fmt.Sprintf("%.3s", status), Digest: r.Get("WARC-Payload-Digest"),
		Length: e.Length, Offset: e.Offset, Filename: e.Filename,
	}
	if *e != want {
		return fmt.Errorf("the record says %+v", want)
	}
	return nil
}

// mediaType matches type/subtype, two tokens (RFC 9110 section 8.3.1).
var mediaType = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9a-z-]{1,127}/[!#$%&'*+.^_`|~0-9a-z-]{1,127}$")

func contentType(head []byte) string {
	for line := range bytes.Lines(head) {
		name, value, _ := strings.Cut(string(line), ":")
		if !strings.EqualFold(name, "Content-Type") {
			continue
		}
		value, _, _ = strings.Cut(value, ";")
		if value = strings.ToLower(strings.Trim(value, " \t\r\n")); mediaType.MatchString(value) {
			return value
		}
		break
	}
	return "unk"
}

// compareKey checks the key and the time of an index line. Of the key, it checks only the host and the parts that all forms of keys have.
func compareKey(key, at string, r *Record) error {
	u, err := url.Parse(r.Get("WARC-Target-URI"))
	if err != nil {
		return err
	}
	host, rest, ok := strings.Cut(key, ")")
	if address, _, found := strings.Cut(host, "]"); found { // an IPv6 address
		host = strings.TrimPrefix(address, "[")
	} else {
		host, _, _ = strings.Cut(host, ":")
	}
	labels := strings.Split(host, ",")
	slices.Reverse(labels)
	got, want := strings.Join(labels, "."), strings.ToLower(u.Hostname())
	if !ok || !strings.HasPrefix(rest, "/") || got != want && (!strings.HasPrefix(want, "www") || !strings.HasSuffix(want, "."+got)) || strings.ToLower(rest) != rest {
		return fmt.Errorf("the key is %s", key)
	}
	date := strings.Map(func(c rune) rune {
		if '0' <= c && c <= '9' {
			return c
		}
		return -1
	}, r.Get("WARC-Date"))
	if at != date[:14] {
		return fmt.Errorf("the time is %s, of the record %s", at, r.Get("WARC-Date"))
	}
	return nil
}
