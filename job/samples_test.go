package job_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job"
)

func TestSampleKey(t *testing.T) {
	c, err := job.Settings{{Name: "sample", Values: []string{"100:a:b"}}}.Config()
	if err != nil || c.Crawl.Sample != (crawler.Sample{N: 100, Seed: "a:b"}) || len(c.Program()) > 0 {
		t.Errorf("%+v, %v", c.Crawl.Sample, err)
	}
	for _, text := range []string{"100:a:b", "none"} {
		if back := job.KeyNamed("sample").Normal([]string{text}); !slices.Equal(back, []string{text}) {
			t.Errorf("%s: written as %q", text, back)
		}
	}
	for text, want := range map[string]string{"100": "want N:SEED", "0:a": "want N:SEED", "x:a": "want N:SEED", "5:": "1 to 64 bytes", "10001:a": "want 1 to 10000"} {
		if _, err := (job.Settings{{Name: "sample", Values: []string{text}}}).Config(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

func TestOrderKey(t *testing.T) {
	for text, want := range map[string]crawler.Order{"found": crawler.OrderFound, "hash:2026": crawler.OrderHash("2026"), "hash:a:b": crawler.OrderHash("a:b")} {
		c, err := job.Settings{{Name: "order", Values: []string{text}}}.Config()
		if err != nil || c.Crawl.Order != want || len(c.Program()) > 0 {
			t.Errorf("%s: %q, %v", text, c.Crawl.Order, err)
		}
		if back := job.KeyNamed("order").Normal([]string{text}); !slices.Equal(back, []string{text}) {
			t.Errorf("written as %q", back)
		}
	}
	for text, want := range map[string]string{"random": "want found, or hash:SEED", "hash:": "1 to 64 bytes", "hash:a b": "without white space"} {
		if _, err := (job.Settings{{Name: "order", Values: []string{text}}}).Config(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	if def := job.KeyNamed("order").Default(); def.Text() != "found" {
		t.Errorf("default %q", def.Text())
	}
}
