package weburl

import (
	"errors"
	"fmt"

	"github.com/zeebo/xxh3"
)

// Profile decides which spellings of URLs are treated as the same page. It affects only the [Key]: requests use the URL as it was found;
// of several URLs that are the same page by the profile, the one found first is requested. Profiles are safe for concurrent use, and each
// is idempotent.
type Profile uint8

const (
	// Safe uses [URL.Normal] and is the default. It merges spellings that RFC 3986 section 6.2.2 calls equivalent. It wrongly merges two
	// pages only on a server that distinguishes "%7E" from "~", "%c3" from "%C3", "%" from "%25", "|" from "%7C", or "/a?" from "/a".
	Safe Profile = iota
	// Exact uses the URL as it is. It merges only spellings that [Parse] makes equal. A page whose URL a site spells in two ways is
	// fetched twice.
	Exact
	// Usual is Safe with three assumptions that are right for most sites and wrong for some:
	//
	//   - "/dir/index.html" is "/dir/", with or without a query (index and default, with the usual extensions).
	//     Wrong if the server's index has another name, so that both exist and differ.
	//   - Parameters of the query are sorted by name; those with the same name keep their order, and empty ones are
	//     dropped. Wrong if a server reads a query by position ("?42&7").
	//   - Parameters that say where a visitor came from, or identify the visitor's session, are dropped from the
	//     query, and ";jsessionid=…" and the like from the path. Wrong if a site uses one of these names for
	//     something on which its pages depend. Names that have other uses too ("sid", "session") are dropped only
	//     with a value of 16 or more letters and digits.
	//
	// The names are those of the click identifiers of Google, Meta, Microsoft, Yandex and other advertisers (gclid,
	// fbclid, msclkid, yclid …), of campaigns (utm_*, mtm_*, pk_*, mc_cid …) and of sessions (jsessionid, phpsessid,
	// aspsessionid*, cfid, cftoken …), in any case; noise.go has them all.
	Usual
)

// errProfile is returned for an unknown profile name.
var errProfile = errors.New("weburl: unknown profile")

// parseProfile returns the profile named "safe", "exact" or "usual"; "" is Safe. The error lists the names.
func parseProfile(name string) (Profile, error) {
	switch name {
	case "", "safe":
		return Safe, nil
	case "exact":
		return Exact, nil
	case "usual":
		return Usual, nil
	}
	return Safe, fmt.Errorf("%w: %q (safe, exact or usual)", errProfile, name)
}

// String returns "safe", "exact" or "usual".
func (p Profile) String() string {
	switch p {
	case Safe:
		return "safe"
	case Exact:
		return "exact"
	case Usual:
		return "usual"
	}
	return fmt.Sprintf("Profile(%d)", uint8(p))
}

// MarshalText implements encoding.TextMarshaler.
func (p Profile) MarshalText() ([]byte, error) {
	if p > Usual {
		return nil, fmt.Errorf("%w: %v", errProfile, p)
	}
	return []byte(p.String()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler. It accepts "safe", "exact" and "usual", and "" as safe.
func (p *Profile) UnmarshalText(b []byte) error {
	v, err := parseProfile(string(b))
	if err == nil {
		*p = v
	}
	return err
}

// Normal returns the profile's canonical form of u: one text for all URLs that are the same page by the profile. It is a URL, but may be
// longer than [MaxLen].
func (p Profile) Normal(u URL) string {
	switch {
	case p == Exact || u.href == "":
		return u.href
	case p == Usual:
		var space [512]byte
		n := u.Normal()
		return string(appendUsual(space[:0], n, int(u.marks.path)))
	}
	return u.Normal()
}

// Key returns the key of u under the profile: the hash of its Normal. The zero URL has the zero Key. Key allocates only if [URL.Key]
// does, and for queries with more than 32 parameters.
func (p Profile) Key(u URL) Key {
	if u.href == "" {
		return Key{}
	}
	if p == Exact || p != Usual && u.marks.normal {
		return xxh3.HashString128(u.href).Bytes()
	}
	var space [1024]byte
	n := appendNormal(space[:0], u.href, int(u.marks.path))
	if p == Usual {
		start := len(n)
		n = appendUsual(n, n, int(u.marks.path))[start:]
	}
	return xxh3.Hash128(n).Bytes()
}
