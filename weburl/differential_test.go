package weburl

import (
	"regexp"
	"strings"
	"testing"

	whatwg "github.com/nlnwa/whatwg-url/url"
	"pgregory.net/rapid"
)

// reference resolves ref with whatwg-url alone, which implements the Standard's state machine rune by rune. host is the
// last text that whatwg-url passed to its host parser.
func reference(base URL, ref string) (u *whatwg.Url, host string, err error) {
	p := whatwg.NewParser(
		whatwg.WithPathPercentEncodeSet(whatwg.PathPercentEncodeSet.Set('^')), // see TestWhatwgURLDiffers
		whatwg.WithPreParseHostFunc(func(_ *whatwg.Url, h string) string {
			host = h
			return h
		}),
	)
	u, err = p.ParseRef(base.String(), ref)
	return u, host, err
}

// checkReference fails the test if this package and the reference disagree without a known reason.
func checkReference(t rapid.TB, base URL, ref string) {
	t.Helper()
	got, err := base.Resolve(ref)
	reason := ReasonOf(err)
	if reason == ReasonTooLong {
		return // our own limit: see TestTooLong
	}
	want, host, refErr := reference(base, ref)
	var ok bool
	switch {
	case reason == ReasonScheme:
		ok = refErr != nil || want.Scheme() != "http" && want.Scheme() != "https"
	case reason == ReasonSyntax:
		ok = refErr != nil
	case refErr != nil: // only the reference rejects ref, or this package rejects it for another reason
	case reason == ReasonCredentials:
		ok = want.Username() != "" || want.Password() != ""
	default:
		ok = got.String() == want.Href(true) && want.Username() == "" && want.Password() == ""
	}
	if !ok && !differsByHost(host) {
		t.Errorf("%q at %q: %q, %v; whatwg-url has %v, %v", ref, base, got, err, want, refErr)
	}
}

// whatwg-url wrongly takes last labels of these two forms for numbers.
var (
	signedNumber = regexp.MustCompile(`(^|\.)(0x?)?[+-][0-9a-f]*\.?$`)
	longNumber   = regexp.MustCompile(`(^|\.)(0x?)?[+-]?[0-9a-f]{16,}[^.]*\.?$`) // numbers beyond the range of strconv
)

// differsByHost reports whether whatwg-url is known to deviate from the Standard for a host. TestWhatwgURLDiffers has a
// case for each reason.
func differsByHost(host string) bool {
	if strings.HasPrefix(host, "[") {
		return strings.Count(host, "[") != 1 || strings.Count(host, "]") != 1
	}
	name := unescapeAll(host)
	ascii, ok := domainToASCII(name)
	if !ok {
		return false
	}
	odd := strings.ContainsFunc(ascii, func(r rune) bool { return r == '_' || classes[r]&nameByte == 0 })
	return !isASCII(name) && odd ||
		isASCII(name) && strings.Contains(ascii, "xn--") ||
		signedNumber.MatchString(ascii) || longNumber.MatchString(ascii) && !endsInNumber(ascii) || endsInNumber(ascii) && strings.ContainsAny(ascii, "+-")
}

// pieces are the parts of random references: everything with a meaning in some parser state, and a few without any.
var pieces = []string{
	"http", "https", "HTTP", "ftp", "javascript", ":", ":", "//", "/", "/", "\\", "?", "#", "@", ".", "..",
	".", "/../", "/./", "%2e", "%2E%2e", "%2f", "%zz", "%", "%41", "[", "]", "::1", "1", "0x7f", "017",
	"255", "256", "80", "443", "65536", "a", "B", "example.com", "www.", "x-_~", "xn--", "xn--bcher-kva",
	"ü", "ß", "日本", "。", "１", "☕", "\u00ad", "\u200d", "א", "\ufffd", "\xff", "\xe2\x82", " ", "\t", "\n", "\r",
	"\x00", "\x1f", "\x7f", "|", "^", "`", "{", "}", "'", "\"", "<", ">", "&", "=", ";", "+", "-", "!", "*", "~",
}

func drawReference(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "ref"), "")
}

// bases are base URLs for resolving references.
var bases = []string{
	"http://example.com/", "https://example.com/a/b/c?d=e", "http://example.com:8080/a//b/", "http://[::1]/x",
	"https://xn--bcher-kva.example/%7Eu/%zz/|?", "http://127.0.0.1/a/..b/.c?", "https://a_b.example./?%zz",
}

// TestReference compares this package with an independent implementation (WHATWG URL Standard sections 3 and 4).
func TestReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.SampledFrom(append(bases, "")).Draw(t, "base")
		u, _ := Parse(base)
		for range 30 {
			checkReference(t, u, drawReference(t))
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, c := range parseCases {
		f.Add(c.in)
	}
	f.Fuzz(func(t *testing.T, s string) {
		checkReference(t, URL{}, s)
		checkURL(t, s)
	})
}

func FuzzResolve(f *testing.F) {
	for i, c := range resolveCases {
		f.Add(bases[i%len(bases)], c.ref)
	}
	f.Fuzz(func(t *testing.T, base, ref string) {
		b, err := Parse(base)
		if err != nil {
			return
		}
		checkReference(t, b, ref)
	})
}
