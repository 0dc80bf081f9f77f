package explain

import (
	"testing"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
)

func TestClauseOfAnotherCrawlNamesIt(t *testing.T) {
	until := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for by, want := range map[string]string{
		"news": "another of your crawls, job news, until 03:04:05.000", "": "another of your crawls until 03:04:05.000",
	} {
		if text := clauseText(ledger.Clause{Name: ledger.ClauseShared, Until: until, Delay: 1e9, By: by}); text != want {
			t.Error(text)
		}
	}
}
