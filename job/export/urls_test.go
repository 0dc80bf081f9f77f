package export_test

import (
	"testing"

	"github.com/amble-crawler/amble/job/export"
	"github.com/amble-crawler/amble/sink"
)

func TestFilterMatchesEveryList(t *testing.T) {
	v := &sink.Record{URL: "https://www.site.example:8443/x", Status: 404, Type: "image/png", Outcome: "fetched"}
	for _, tt := range []struct {
		f    export.Filter
		want bool
	}{
		{export.Filter{}, true},
		{export.Filter{Status: []string{"200", "404"}}, true},
		{export.Filter{Status: []string{"4xx"}}, true},
		{export.Filter{Status: []string{"2xx"}}, false},
		{export.Filter{Types: []string{"IMAGE/*"}}, true},
		{export.Filter{Types: []string{"image/jpeg", "text/*"}}, false},
		{export.Filter{Hosts: []string{"*.site.example"}}, true},
		{export.Filter{Hosts: []string{"WWW.site.example"}}, true},
		{export.Filter{Hosts: []string{"www.site.example:8443"}}, true},
		{export.Filter{Hosts: []string{"www.site.example:443"}}, false},
		{export.Filter{Hosts: []string{"*.te.example"}}, false},
		{export.Filter{Outcomes: []string{"failed", "fetched"}}, true},
		{export.Filter{Outcomes: []string{"fetched"}, Status: []string{"200"}}, false},
	} {
		if err := tt.f.Validate(); err != nil {
			t.Error(err)
		}
		if got := tt.f.Match(v); got != tt.want {
			t.Errorf("%+v matches: %v", tt.f, got)
		}
	}
	for _, bad := range []export.Filter{{Status: []string{"40"}}, {Status: []string{"4x4"}}, {Status: []string{"900"}}, {Types: []string{"pdf"}}, {Types: []string{"image/"}}} {
		if bad.Validate() == nil {
			t.Errorf("%+v is valid", bad)
		}
	}
}
