package extract

import "testing"

// HTML Standard section 4.2.5.3, shared declarative refresh steps.
func TestMetaRefresh(t *testing.T) {
	for _, tt := range []struct {
		content, ref string
		ok           bool
	}{
		{"5; url=/x", "/x", true},
		{"5;URL = '/x' ; y", "/x", true},
		{`0;url="/x`, "/x", true},
		{"5 /x", "/x", true},
		{"5,/x", "/x", true},
		{"  5.5.5;/x", "/x", true},
		{".5;/x", "/x", true},
		{"5", "", true},
		{"5;", "", true},
		{"5; url=", "", true},
		{"5; 'a'b", "a", true},
		{"5;urn:x", "urn:x", true},
		{"5;urlx", "urlx", true},
		{"5;url x", "url x", true},
		{"5;url=url=x", "url=x", true},
		{"5;;x", ";x", true},
		{"", "", false},
		{"x", "", false},
		{"-5;x", "", false},
		{"5x", "", false},
		{"url=/x", "", false},
	} {
		if ref, ok := MetaRefresh(tt.content); ref != tt.ref || ok != tt.ok {
			t.Errorf("%q: %q, %t; want %q, %t", tt.content, ref, ok, tt.ref, tt.ok)
		}
	}
}
