package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/amble-crawler/amble/cmd/amble/internal/keyflags"
	"github.com/amble-crawler/amble/cmd/amble/internal/operator"
	"github.com/amble-crawler/amble/job"
)

var someFlags = []string{
	"--include=a{1,2},b", "--exclude=c: d # e", "--include=- f", "--exclude=\"g\"", "--exclude=two\nlines", "--rules=exclude h", "-d0", "-wnone",
	"--delay-factor=none", "--rate=0.25", "--max-delay=none", "--max-pages=7", "--max-bytes=1.5MiB", "--max-time=90",
	"--max-per-host=3", "--max-body=1kB", "--retries=none", "--retry-pause=1ms", "--follow=sitemaps", "--scope=any", "--agent=my_bot/1",
	"--contact=me@site.university.edu", "--follow=nofollow", "--follow=resources", "--allow-address=10.0.0.0/8,::1", "--allow-port=22,6000",
	"--max-crawl-delay=none", "--max-failures=none", "--dialect=strictest", "--refuse-usage=train-ai,search",
	"--dns-timeout=1h", "--max-header=1MiB", "--max-header-fields=9", "--max-encodings=1", "--max-ratio=20", "--min-rate=1kB", "--json", "--color=never", "-o=yes", "--fail-on-limit", "--per-domain", "--canonical=usual",
	"--max-queries=none", "--max-per-dir=9", "--max-same=4", "--near-bits=2", "--max-errors=5", "--follow=feeds", "--beyond=1", "--cookies", "--proxy=http://a:b@127.0.0.1:1", "--source-address=127.0.0.1", "--hours=22:00-06:00,12:00-13:00", "--visit-time", "--insecure-hosts=a.org,b.org", "--max-soft=none", "--beyond-kinds=image,style",
}

func yamlOf(t *testing.T, s string) map[string]any {
	var m map[string]any
	if err := yaml.Unmarshal([]byte(s), &m); err != nil {
		t.Fatalf("no valid YAML: %v\n%s", err, s)
	}
	return m
}

// A job file that --print-config has printed gives the same crawl again, whatever the flags and their order.
func TestPrintConfigFedBackGivesTheSameCrawl(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for seed := range uint64(25) {
		r := rand.New(rand.NewPCG(seed, 0))
		args := []string{"http://127.0.0.1/"}
		for _, i := range r.Perm(len(someFlags))[:r.IntN(len(someFlags))] {
			args = append(args, someFlags[i])
		}
		c, o := parsed(t, nil, args...)
		first := printed(o)
		path := filepath.Join(dir, "job.yaml")
		if err := os.WriteFile(path, []byte(first), 0o644); err != nil {
			t.Fatal(err)
		}
		again, o2 := parsed(t, nil, "--config", path)
		if want, got := yamlOf(t, first), yamlOf(t, printed(o2)); !reflect.DeepEqual(want, got) {
			t.Fatalf("printed %v, fed back and printed again %v", want, got)
		}
		seeds, err := operator.Seeds(o2, again.URLs, "", nil)
		if err != nil || len(seeds) != 1 {
			t.Fatalf("seeds %v, %v", seeds, err)
		}
		want, err := c.config(o, seeds)
		if err != nil { // the scope any needs an explicit limit, and a printed limit is explicit
			continue
		}
		got, err := again.config(o2, seeds)
		if err != nil || fmt.Sprintf("%+v", want.Crawl) != fmt.Sprintf("%+v", got.Crawl) { // %+v prints a missing list like an empty one
			t.Fatalf("%v\ngives %+v\nfed back %+v, %v", args, want, got, err)
		}
		if c.Flags != again.Flags || c.Out != again.Out || c.FailOnLimit != again.FailOnLimit {
			t.Fatalf("%v: output flags differ", args)
		}
	}
}

// printed returns what --print-config prints for a crawl from one seed.
func printed(o *keyflags.Origins) string {
	return o.Settings().YAML(job.Setting{Values: []string{"http://127.0.0.1/"}})
}

// Every key is a flag of amble crawl and has a description. Every flag is a key, or applies to a single invocation only, or names the
// servers of an engine.
func TestFlagsAreTheKeys(t *testing.T) {
	_, o := parsed(t, nil, "http://127.0.0.1/")
	flags := map[string]bool{"overrides": true, "hosts": true}
	for _, f := range o.Flags() {
		flags[f.Name] = true
		ofCluster := strings.HasPrefix(f.Name, "cluster") || slices.Contains([]string{"job", "shards", "replicas", "lease", "max-skew"}, f.Name)
		if !keyflags.OfInvocation(f.Name) && job.KeyNamed(f.Name) == nil && job.ShorthandNamed(f.Name) == nil && !ofCluster {
			t.Errorf("--%s is not a key", f.Name)
		}
		if f.Help == "" {
			t.Errorf("--%s has no help", f.Name)
		}
	}
	for _, k := range job.Keys() {
		if !flags[k.Name] || k.Doc == "" || k.Freedom == 0 {
			t.Errorf("%+v is not a flag, or not described", k)
		}
	}
}
