package identity

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"time"
)

const (
	jafar          = "jafar-00 section "
	maxRangesBytes = 1 << 20
)

// ranges reads and checks the address ranges.
func (k *checking) ranges(f *found) []netip.Prefix {
	if f.rangesURL == "" && !f.pageRead {
		return nil // the page that should name the file was not read
	}
	if f.rangesURL == "" {
		k.should(f.contact, cbcp+"2.5", "Name the addresses that requests come from, if they are the crawler's own.", "no address ranges are published")
		return nil
	}
	r := k.fetch("the list of address ranges", f.rangesURL, cbcp+"2.5")
	if r == nil {
		return nil
	}
	if t := mediaType(r); t != rangesType && t != "application/json" {
		k.should(f.rangesURL, jafar+"7", "Serve it as "+rangesType+".", "the address ranges are served as %q", printable(t))
	}
	if len(r.Body) > maxRangesBytes {
		k.must(f.rangesURL, jafar+"2.1", "", "the list of address ranges is longer than %d bytes", maxRangesBytes)
		return nil
	}
	var list struct {
		CreationTime json.RawMessage              `json:"creationTime"`
		Prefixes     []map[string]json.RawMessage `json:"prefixes"`
	}
	if err := json.Unmarshal(r.Body, &list); err != nil {
		k.must(f.rangesURL, jafar+"2.1", "Publish it again.", "the address ranges are not a JSON object with an array \"prefixes\" of objects: %s", jsonFault(err))
		return nil
	}
	k.creationTime(f.rangesURL, jsonString(list.CreationTime))
	if list.Prefixes == nil {
		k.must(f.rangesURL, jafar+"2.2", "Write an empty array if there are none.", "\"prefixes\" is missing")
	}
	return k.prefixes(f.rangesURL, list.Prefixes)
}

func (k *checking) creationTime(at, s string) {
	t, err := time.Parse(time.RFC3339, s)
	switch {
	case err != nil || !strings.HasSuffix(s, "Z"):
		k.must(at, jafar+"2.1", "Write it as 2026-01-31T12:00:00Z.", "\"creationTime\" is %q, not a time in UTC", printable(s))
	case t.After(k.Now.Add(defaultSkew)):
		k.should(at, jafar+"2.1", "", "\"creationTime\" is in the future")
	case k.Now.Sub(t) > 25*time.Hour: // an hour later than a daily job
		k.should(at, jafar+"3.1", "Publish it every day.", "the address ranges are %d days old", int(k.Now.Sub(t).Hours()/24))
	}
}

// prefixes returns the valid address ranges in a list, and reports defects of the others.
func (k *checking) prefixes(at string, list []map[string]json.RawMessage) []netip.Prefix {
	if len(list) > maxPrefixes {
		k.note("%d address ranges: the first %d are checked", len(list), maxPrefixes)
		list = list[:maxPrefixes]
	}
	var prefixes []netip.Prefix
	for i, e := range list {
		p, err := prefixOf(e)
		if err != nil {
			k.must(at, jafar+"2.3", "", "prefix %d: %s", i+1, err.Error())
			continue
		}
		if a := p.Addr(); !a.IsGlobalUnicast() || a.IsPrivate() {
			k.must(at, jafar+"6", "", "prefix %v: nobody outside sees requests from these addresses", p)
			continue
		}
		prefixes = append(prefixes, p)
	}
	if p := k.Profile; p != nil {
		for _, want := range p.Addresses {
			if !containsPrefix(prefixes, want) {
				k.must(at, cbcp+"2.5", "Upload the public folder.", "%v is missing, from which requests come", want)
			}
		}
	}
	return prefixes
}

func containsPrefix(list []netip.Prefix, want netip.Prefix) bool {
	for _, p := range list {
		if p.Bits() <= want.Bits() && p.Contains(want.Addr()) {
			return true
		}
	}
	return false
}

// prefixOf reads a Prefix Object, which must have exactly one of its two fields.
func prefixOf(e map[string]json.RawMessage) (netip.Prefix, error) {
	v4, four := e["ipv4Prefix"]
	v6, six := e["ipv6Prefix"]
	if four == six {
		return netip.Prefix{}, fmt.Errorf("it has to have exactly one of \"ipv4Prefix\" and \"ipv6Prefix\"")
	}
	text := jsonString(v4)
	if six {
		text = jsonString(v6)
	}
	p, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return p, fmt.Errorf("%q is not in CIDR notation", printable(text))
	case p.Addr().Is4() != four || p.Addr().Is4In6():
		return p, fmt.Errorf("%q is of the other family", printable(text))
	case p != p.Masked():
		return p, fmt.Errorf("%q has bits set behind the prefix", printable(text))
	}
	return p, nil
}
