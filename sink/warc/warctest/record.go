package warctest

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// parse parses a record by the grammar of ISO 28500 section 4. It does not accept line folding and encoded words, which no reader supports.
func parse(plain []byte) (*Record, error) {
	r := new(Record)
	rest, ok := bytes.CutPrefix(plain, []byte("WARC/1.1\r\n"))
	if !ok {
		return r, fmt.Errorf("begins with %.12q", plain)
	}
	for {
		line, after, ok := bytes.Cut(rest, []byte("\r\n"))
		if !ok {
			return r, errors.New("the header has no end")
		}
		if rest = after; len(line) == 0 {
			break
		}
		f, err := parseField(string(line))
		if err != nil {
			return r, err
		}
		r.Fields = append(r.Fields, f)
	}
	length := r.Get("Content-Length")
	n, err := strconv.Atoi(length)
	if err != nil || n < 0 || strings.Trim(length, "0123456789") != "" {
		return r, fmt.Errorf("Content-Length is %q", length)
	}
	if n+4 != len(rest) || string(rest[n:]) != "\r\n\r\n" {
		return r, fmt.Errorf("the block of %d bytes is followed by %.20q", n, rest[min(n, len(rest)):])
	}
	r.Block = rest[:n]
	return r, nil
}

func parseField(line string) (Field, error) {
	name, value, ok := strings.Cut(line, ":")
	if !ok || name == "" || strings.ContainsAny(name, "()<>@,;:\\\"/[]?={} \t") || !printable(name) {
		return Field{}, fmt.Errorf("%.60q is not a valid field", line)
	}
	value, ok = strings.CutPrefix(value, " ")
	if !ok || value == "" || value != strings.TrimSpace(value) || !printable(value) || !utf8.ValidString(value) {
		return Field{}, fmt.Errorf("%s has the value %.60q", name, value)
	}
	return Field{name, value}, nil
}

func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// fields parses a block of the type application/warc-fields.
func (r *Record) fields() ([]Field, error) {
	var fs []Field
	for line := range strings.SplitSeq(strings.TrimSuffix(string(r.Block), "\r\n"), "\r\n") {
		f, err := parseField(line)
		if err != nil {
			return fs, err
		}
		fs = append(fs, f)
	}
	return fs, nil
}

// Described returns the value of a field in the block of a warcinfo or metadata record: the first of several, "" if there is none.
func (r *Record) Described(name string) string {
	fs, _ := r.fields()
	return (&Record{Fields: fs}).Get(name)
}
