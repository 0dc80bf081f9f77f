package job_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job"
)

func TestPriorityKey(t *testing.T) {
	texts := []string{"/news/=10", "[?&]page==-128", "^https://a\\.test/{2,3}=127"}
	c, err := job.Settings{{Name: "priority", Values: texts}}.Config()
	if err != nil {
		t.Fatal(err)
	}
	want := []crawler.PriorityRule{{Pattern: "/news/", Priority: 10}, {Pattern: "[?&]page=", Priority: -128}, {Pattern: "^https://a\\.test/{2,3}", Priority: 127}}
	if !slices.Equal(c.Crawl.Priorities, want) {
		t.Errorf("%v", c.Crawl.Priorities)
	}
	if p := c.Program(); len(p) > 0 {
		t.Errorf("a job file cannot express %v", p)
	}
	if back := job.KeyNamed("priority").Normal(texts); !slices.Equal(back, texts) {
		t.Errorf("written as %q", back)
	}
	for text, want := range map[string]string{
		"/news/": "want RE=N", "=5": "want RE=N", "/news/=128": `"128" is not a number from -128 to 127`,
		"/news/=high": `"high" is not a number`, "/news/=": `"" is not a number`, "(=5": `"(" is not a valid regular expression`,
	} {
		_, err := job.Settings{{Name: "priority", Values: []string{"/a=1", text}}}.Config()
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "priority") {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}
