package weburl

import (
	"errors"
	"fmt"

	"github.com/zeebo/xxh3"
)

// Profile says which spellings the seen set takes for one page. It touches the [Key] only: what is
// requested is the URL as it was found, and of several that are one to the profile, the one found
// first. Profiles are safe for concurrent use. Each is idempotent.
type Profile uint8

const (
	// Safe is [URL.Normal], the default. It merges spellings that RFC 3986 section 6.2.2 calls
	// equivalent. It may wrongly merge two pages only on a server that tells apart "%7E" and "~",
	// "%c3" and "%C3", "%" and "%25", "|" and "%7C", or "/a?" and "/a".
	Safe Profile = iota
	// Exact is the URL as it stands. It merges nothing but what [Parse] makes equal; a site that
	// spells its own links in two ways is fetched twice.
	Exact
	// Usual is Safe and three guesses that hold on most sites, each wrong on some:
	//
	//   - "/dir/index.html" is "/dir/", with or without a query (index and default, with the
	//     usual extensions). Wrong where the server's index has another name, so that both exist
	//     and differ.
	//   - Parameters of the query are ordered by name; those of one name keep their order, and
	//     empty ones are dropped. Wrong where a server reads a query by position ("?42&7").
	//   - Parameters that carry where a visitor came from, or the visitor's session, are dropped
	//     from the query, and ";jsessionid=…" and its like from the path. Wrong where a site gives
	//     one of these names to something its pages depend on; names that mean other things too
	//     ("sid", "session") are dropped only with a value of 16 or more letters and digits.
	//
	// The names are those of Google, Meta, Microsoft, Yandex and other advertisers' click marks
	// (gclid, fbclid, msclkid, yclid …), campaigns (utm_*, mtm_*, pk_*, mc_cid …) and sessions
	// (jsessionid, phpsessid, aspsessionid*, cfid, cftoken …), in any case; noise.go has them all.
	Usual
)

// ErrProfile is the error of a name that is no profile's.
var ErrProfile = errors.New("weburl: no such profile")

// ParseProfile is the profile called "safe", "exact" or "usual"; "" is Safe. The error wraps
// [ErrProfile].
func ParseProfile(name string) (Profile, error) {
	switch name {
	case "", "safe":
		return Safe, nil
	case "exact":
		return Exact, nil
	case "usual":
		return Usual, nil
	}
	return Safe, fmt.Errorf("%w: %q (safe, exact or usual)", ErrProfile, name)
}

// String is the profile's name, as [ParseProfile] takes it.
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
		return nil, fmt.Errorf("%w: %v", ErrProfile, p)
	}
	return []byte(p.String()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler, as [ParseProfile].
func (p *Profile) UnmarshalText(b []byte) error {
	v, err := ParseProfile(string(b))
	if err == nil {
		*p = v
	}
	return err
}

// Normal is the profile's canonical form of u: one text for all URLs the profile takes for one
// page. It is the text of a URL (but may be longer than [MaxLen]).
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

// Key is the seen key of u under the profile: the hash of its Normal. The zero URL has the zero
// Key. It allocates only where [URL.Key] does, and for queries of more than 32 parameters.
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
