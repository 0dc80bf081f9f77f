package politeness

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/internal/hidden"
)

// What a reader does not see, or what turns what others see, stands in no line, and comes out of it as it was.
func TestHiddenCharactersAreEscapedInTheLedger(t *testing.T) {
	const text = "a\u009b31m\u202eb\u2066c\u200bd\u00ade\U000e0041\x7f\u2028f日本"
	e := Entry{Event: "end", Run: "r", Err: text, Location: text, RetryAfter: text, Override: text}
	line := e.append(nil)
	for _, c := range string(line) {
		if hidden.Is(c) {
			t.Errorf("%U stands in %s", c, line)
			break
		}
	}
	var got Entry
	if err := json.Unmarshal(line, &got); err != nil || got.Err != text || got.Location != text {
		t.Errorf("%v\n%s", err, line)
	}
	var r record
	if err := r.parse(line); err != nil || r.location != text {
		t.Errorf("read back as %q, %v", r.location, err)
	}
}

// User and password of a Location stand in no ledger; where it leads is there, and that it leads nowhere.
func TestALocationsPasswordIsNotInTheLedger(t *testing.T) {
	for location, want := range map[string]string{
		"http://user:secret@b.test/x":      `"location":"http://*****@b.test/x"`,
		"//user:secret@b.test/x":           `"location":"//*****@b.test/x"`,
		"\t http:\\\\us\ter:secret@b.test": `*****@b.test`,
		"http:user:secret@b.test/":         `"location":"http:*****@b.test/"`,
		"/@user":                           `"location":"/@user"`,
		"https://b.test/@user?x=a@b#c@d":   `"location":"https://b.test/@user?x=a@b#c@d"`,
		"a:b@c":                            `"location":"a:*****@c"`,
	} {
		in(t, func(t *testing.T) {
			var out strings.Builder
			b := open(t, Config{Ledger: &out})
			b.send(b.must("https://a.test/"), 0, Reply{Status: 301, Header: http.Header{"Location": {location}}})
			if all := out.String(); strings.Contains(all, "secret") || !strings.Contains(all, want) {
				t.Errorf("%q: want %s\n%s", location, want, all)
			}
		})
	}
}
