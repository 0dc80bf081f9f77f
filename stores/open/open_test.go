package open_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/stores/open"
)

func TestURLOpensBothKinds(t *testing.T) {
	for _, url := range []string{"s3://crawls/shop", "file://" + filepath.ToSlash(t.TempDir())} {
		s, err := open.URL(url)
		if err != nil || !open.IsURL(url) {
			t.Errorf("%s: %v", url, err)
			continue
		}
		if err := open.Close(s); err != nil {
			t.Error(err)
		}
	}
}

func TestURLRefusesOthersAndSaysWhatItWants(t *testing.T) {
	for url, want := range map[string]string{
		"": "s3://BUCKET", "/mnt/crawls": "file:///", "gs://crawls": "s3://BUCKET", "file://mnt/crawls": "three slashes", "file:mnt": "three slashes",
		"https://crawls.s3.amazonaws.com/": "s3://BUCKET", "file:///no/such/directory": "no such",
	} {
		if _, err := open.URL(url); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", url, err, want)
		}
	}
}
