package sink

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/amble-crawler/amble/internal/hidden"
)

// Invisible characters and those that change the text direction are escaped in a line, and survive a round trip.
func TestHiddenCharactersAreEscaped(t *testing.T) {
	const text = "a\u009b31m\u202eb\u2066c\u200bd\u00ade\U000e0041\x7f\u2028f日本"
	r := page()
	r.Title, r.Rule, r.Error, r.Detail, r.Canonical, r.Hops = text, text, text, text, text, []string{text}
	r.Directives, r.Usage, r.ETag = []string{text}, []Usage{{Use: text}}, text
	quoted, err := json.Marshal(map[string]string{text: text})
	if err != nil {
		t.Fatal(err)
	}
	r.Data = []json.RawMessage{quoted}
	line, err := appendRecord(nil, r)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range string(line) {
		if hidden.Is(c) {
			t.Errorf("%U is in %s", c, line)
			break
		}
	}
	var got Record
	if err := json.Unmarshal(line, &got); err != nil || got.Title != text || got.Hops[0] != text || got.Usage[0].Use != text {
		t.Errorf("%v\n%s", err, line)
	}
	var was, is any
	if err := json.Unmarshal(r.Data[0], &was); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(got.Data[0], &is); err != nil || !reflect.DeepEqual(is, was) {
		t.Errorf("%v became %v, %v", was, is, err)
	}
}
