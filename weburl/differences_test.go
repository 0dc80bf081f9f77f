package weburl

import (
	"testing"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// differences lists deviations of whatwg-url from the WHATWG URL Standard: want is the Standard's result, theirs that
// of whatwg-url ("" for an error). If a case fails because theirs has changed, the workaround for it can be removed.
var differences = []struct{ rule, in, want, theirs string }{
	{"1.3: ^ is in the path percent-encode set", "http://a/^", "http://a/%5E", "http://a/^"},
	{"3.3: ASCII is taken whatever IDNA says", "http://xn--8i7caa/", "http://xn--8i7caa/", ""},
	{"3.3: invalid punycode in ASCII too", "http://xn--a.example/", "http://xn--a.example/", ""},
	{"3.3: UseSTD3ASCIIRules is false beside non-ASCII", "http://a_b.bücher/", "http://a_b.xn--bcher-kva/", ""},
	{"3.3: and for what is mapped to ASCII", "http://a.＋１/", "http://a.+1/", ""},
	{"3.5 IPv4 number parser: no sign", "http://1.-1/", "http://1.-1/", "http://0.255.255.255/"},
	{"3.5 IPv4 number parser: no sign, any part", "http://-1.1/", ReasonSyntax, "http://255.0.0.1/"},
	{"3.5 ends in a number checker: no sign", "http://a.+1/", "http://a.+1/", ""},
	{"3.5 ends in a number checker: all bytes count", "http://a.99999999999999999999x/", "http://a.99999999999999999999x/", ""},
	{"3.5: one bracket goes at either end", "http://[[::1]]/", ReasonSyntax, "http://[::1]/"},
	{"3.5: one bracket goes behind", "http://[::1]]/", ReasonSyntax, "http://[::1]/"},
}

func TestWhatwgURLDiffers(t *testing.T) {
	for _, c := range differences {
		u, err := Parse(c.in)
		if got := outcome(u, err); got != c.want {
			t.Errorf("%s: Parse(%q) = %q, want %q", c.rule, c.in, got, c.want)
		}
		theirs := ""
		if w, err := whatwg.Parse(c.in); err == nil {
			theirs = w.Href(true)
		}
		if theirs != c.theirs {
			t.Errorf("%s: whatwg-url makes %q of %q, not %q any more", c.rule, theirs, c.in, c.theirs)
		}
		if _, host, _ := reference(URL{}, c.in); host != "a" && !differsByHost(host) {
			t.Errorf("%s: host %q is not known to differ", c.rule, host)
		}
	}
}
