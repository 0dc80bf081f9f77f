package report

import (
	"strings"
	"testing"

	"github.com/amble-crawler/amble/crawler"
)

func TestResultsSayInPlainWordsWhatCameOfACrawl(t *testing.T) {
	t.Parallel()
	r := &crawler.Report{
		Pages: 1288, Left: 605, Finish: crawler.FinishPages, Statuses: map[int]int{200: 866, 404: 420, 500: 2},
		Reasons: map[string]int{"robots_disallow": 12, "challenge": 3, "dns_not_found": 4, "host_budget": 219, "scope": 7, "new_code": 1},
		Links:   map[crawler.Fate]int{crawler.FateLimit: 11223, crawler.FateFollow: 9},
	}
	text := results(r)
	want := `  fetched    866 pages and files with content
  broken     status 404: 420
             status 500: 2
             no such name (dns_not_found): 4
  refused    refused by robots.txt (robots_disallow): 12
             a bot wall answers for the site (challenge): 3
  over       over the budget of its site (host_budget, set by max-per-host): 219
             links beyond those that are read of a page (link_limit, set by
             max-links): 11,223
             still queued when max-pages was reached: 605
  other      out of scope (scope): 7
             new code (new_code): 1
`
	if text != want {
		t.Errorf("%s\nwant\n%s", text, want)
	}
	for line := range strings.Lines(text) {
		if len([]rune(line)) > 81 {
			t.Errorf("more than 80 columns: %s", line)
		}
	}
	// Errors of unwanted media types and of refused URLs do not count as fetched pages.
	kept := &crawler.Report{Pages: 3, Statuses: map[int]int{200: 5, 404: 40}, Errors: map[int]int{}}
	if text := results(kept); !strings.HasPrefix(text, "  fetched    3 pages and files with content\n  broken     status 404: 40\n") {
		t.Errorf("%q", text)
	}
	if text := results(&crawler.Report{Pages: 1, Statuses: map[int]int{200: 1}}); text != "  fetched    1 page or file with content\n" {
		t.Errorf("%q", text)
	}
}
