package warc

import "testing"

// RFC 3986 appendix A: characters that the grammar does not allow are percent-encoded.
func TestURIsAreValid(t *testing.T) {
	for in, want := range map[string]string{
		"http://x.test/a?b=c;d&e=/?:@!$'()*+,~": "http://x.test/a?b=c;d&e=/?:@!$'()*+,~",
		"https://[2001:db8::1]:8443/a[1]?b[]=c": "https://[2001:db8::1]:8443/a%5B1%5D?b%5B%5D=c",
		"http://x.test/{a}|^`\\<\"> \x7f":       "http://x.test/%7Ba%7D%7C%5E%60%5C%3C%22%3E%20%7F",
		"http://x.test/caf\u00e9?\xff":          "http://x.test/caf%C3%A9?%FF",
		"http://x.test/100%?a=%zz&b=%C3%a9&c=%": "http://x.test/100%25?a=%25zz&b=%C3%a9&c=%25",
		"http://x.test/a%4":                     "http://x.test/a%254",
		"http://x.test/\r\nx: y":                "http://x.test/%0D%0Ax:%20y",
		"http://x.test":                         "http://x.test",
		"http://x.test?[":                       "http://x.test?%5B",
		"":                                      "",
		"%":                                     "%25",
	} {
		if got := uri(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}
