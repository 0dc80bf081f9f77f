package warctest

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"time"
)

const (
	identical   = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
	notModified = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
)

// types are the types of records that sink/warc writes.
var types = []string{"warcinfo", "request", "response", "revisit", "metadata", "conversion", "resource"}

// only has the fields that only certain types of records may have, with these types (ISO 28500 section 5). All others may be in any.
var only = map[string][]string{
	"WARC-Concurrent-To":        {"request", "response", "revisit", "metadata", "resource"},
	"WARC-Payload-Digest":       {"request", "response", "revisit"},
	"WARC-IP-Address":           {"request", "response", "revisit", "metadata"},
	"WARC-Protocol":             {"request", "response", "revisit", "metadata"},
	"WARC-Refers-To":            {"revisit", "metadata", "conversion"},
	"WARC-Refers-To-Target-URI": {"revisit"},
	"WARC-Refers-To-Date":       {"revisit"},
	"WARC-Target-URI":           {"request", "response", "revisit", "metadata", "conversion", "resource"},
	"WARC-Warcinfo-ID":          {"request", "response", "revisit", "metadata", "conversion", "resource"},
	"WARC-Filename":             {"warcinfo"},
	"WARC-Profile":              {"revisit"},
	"WARC-Truncated":            types,
	"WARC-Block-Digest":         types,
	"WARC-Record-ID":            types,
	"WARC-Type":                 types,
	"WARC-Date":                 types,
	"Content-Type":              types,
	"Content-Length":            types,
}

// must lists the required fields for each type of record.
var must = map[string][]string{
	"warcinfo": {"WARC-Filename"},
	"request":  {"WARC-Target-URI"},
	"response": {"WARC-Target-URI", "WARC-Payload-Digest"},
	"revisit":  {"WARC-Target-URI", "WARC-Profile", "WARC-Payload-Digest", "WARC-Refers-To", "WARC-Refers-To-Target-URI", "WARC-Refers-To-Date"},
	"metadata": {"WARC-Target-URI", "WARC-Refers-To"},

	"conversion": {"WARC-Target-URI", "WARC-Refers-To"},
	"resource":   {"WARC-Target-URI", "WARC-Concurrent-To"},
}

var (
	idForm     = regexp.MustCompile(`^<urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}>$`)
	digestForm = regexp.MustCompile(`^(sha1:[A-Z2-7]{32}|sha256:[0-9a-f]{64})$`)
	dateForm   = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$`)
	truncForm  = regexp.MustCompile(`^(length|time|disconnect|unspecified)$`)
	// uriForm is roughly the grammar of RFC 3986: brackets only around an address. A picture's URI contains that of its page.
	uriForm   = regexp.MustCompile(`^(urn:view:)?[A-Za-z][A-Za-z0-9+.-]*://(\[[0-9A-Fa-f:.]+\])?([A-Za-z0-9._~:/?#@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*$`)
	protoForm = regexp.MustCompile(`^(h2|h2c|h3|http/1\.[01])$`)
)

// check checks the parts of a record that do not depend on other records.
func (r *Record) check() error {
	typ := r.Type()
	if !slices.Contains(types, typ) {
		return fmt.Errorf("WARC-Type is %q", typ)
	}
	var errs []error
	seen := map[string]bool{}
	for _, f := range r.Fields {
		if kinds, known := only[f.Name]; !known || !slices.Contains(kinds, typ) {
			errs = append(errs, fmt.Errorf("%s is not allowed in this type of record", f.Name))
		}
		if seen[f.Name] && f.Name != "WARC-Concurrent-To" {
			errs = append(errs, fmt.Errorf("%s is repeated", f.Name))
		}
		seen[f.Name] = true
		errs = append(errs, f.check())
	}
	needs := must[typ]
	if r.Get("WARC-Profile") == notModified { // a revisit with this profile may refer to a record in another archive
		needs = []string{"WARC-Target-URI", "WARC-Refers-To-Target-URI"}
	}
	for _, name := range append([]string{"WARC-Record-ID", "WARC-Date", "WARC-Type", "Content-Length", "Content-Type", "WARC-Block-Digest"}, needs...) {
		if !seen[name] {
			errs = append(errs, fmt.Errorf("no %s", name))
		}
	}
	return errors.Join(append(errs, r.checkBlock())...)
}

// check checks the value of a field.
func (f Field) check() error {
	ok := true
	switch f.Name {
	case "WARC-Record-ID", "WARC-Concurrent-To", "WARC-Refers-To", "WARC-Warcinfo-ID":
		ok = idForm.MatchString(f.Value)
	case "WARC-Date", "WARC-Refers-To-Date":
		_, err := time.Parse(time.RFC3339Nano, f.Value)
		ok = err == nil && dateForm.MatchString(f.Value)
	case "WARC-Block-Digest", "WARC-Payload-Digest":
		ok = digestForm.MatchString(f.Value)
	case "WARC-IP-Address":
		a, err := netip.ParseAddr(f.Value)
		ok = err == nil && a.Zone() == "" && a.String() == f.Value
	case "WARC-Target-URI", "WARC-Refers-To-Target-URI":
		u, err := url.Parse(f.Value)
		ok = err == nil && u.IsAbs() && uriForm.MatchString(f.Value)
	case "WARC-Truncated":
		ok = truncForm.MatchString(f.Value)
	case "WARC-Profile":
		ok = f.Value == identical || f.Value == notModified
	case "WARC-Protocol":
		ok = protoForm.MatchString(f.Value)
	}
	if !ok {
		return fmt.Errorf("%s is %.80q", f.Name, f.Value)
	}
	return nil
}
