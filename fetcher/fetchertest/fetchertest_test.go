package fetchertest_test

import (
	"testing"

	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/fetcher/fetchertest"
)

func TestFetcherConforms(t *testing.T) {
	fetchertest.Run(t, func(t *testing.T, w *crawltest.Web) fetchertest.Fetcher {
		f, err := fetcher.New(fetcher.Config{DialContext: w.DialContext, Resolver: w})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(f.Close)
		return f
	})
}
