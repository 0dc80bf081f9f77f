package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
)

const contact = "https://lab.university.edu/crawl"

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

const said = `3 of 7 hosts drawn
5 pages of 3 hosts
group    drawn   hosts that gave a page  error (95 %)
example  2 of 6  6.0                     ± 0.0
own      1 of 1  1.0                     exactly: all were drawn
all      3 of 7  7.0                     ± 0.0
group    drawn   pages within the bound  error (95 %)
example  2 of 6  12.0                    ± 0.0
own      1 of 1  1.0                     exactly: all were drawn
all      3 of 7  13.0                    ± 0.0
`

func TestBudgetsAreKept(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.Expect(crawltest.Expect{Delay: time.Second, Agent: "amble-sample", Contact: contact})
		var list strings.Builder
		for i := range 6 {
			name := fmt.Sprintf("h%d.example", i)
			fmt.Fprintln(&list, name)
			w.Site("https://"+name).Page("/", "<a href=/1>1</a> <a href=/2>2</a>").Site().Page("/1", "1").Site().Page("/2", "2")
		}
		list.WriteString("# the only one of its group\nsolo.example own\n")
		w.Site("https://solo.example").Page("/", "home")
		var cfg crawler.Config
		w.Apply(&cfg)
		var out, errs bytes.Buffer
		plan := filepath.Join(t.TempDir(), "plan")
		code := run(t.Context(), []string{"-contact", contact, "-f", file(t, list.String()), "-seed", "1", "-per", "2", "-pages", "2", "-plan", plan}, &out, &errs, cfg)
		if code != 0 || errs.String() != said {
			t.Errorf("exit %d, said %s", code, &errs)
		}
		text, err := os.ReadFile(plan)
		if err != nil || strings.Count(string(text), "\n") != 7 || strings.Count(string(text), `"drawn":true`) != 3 ||
			!strings.Contains(string(text), `{"url":"https://solo.example/","group":"own","place":1,"group_size":1,"drawn":true,"probability":1}`) {
			t.Errorf("%v: %s", err, text)
		}
		if len(w.Visited("solo.example")) != 2 || strings.Count(out.String(), `"outcome":"fetched"`) != 5 {
			t.Errorf("requested %v", w.Visited(""))
		}
	})
}

func people(n int) (list []host) {
	for i := range n {
		list = append(list, host{fmt.Sprintf("https://h%d.example/", i), "g"})
	}
	return list
}

func TestDrawDependsOnSeedAndHostsAlone(t *testing.T) {
	list := people(50)
	first := draw(list, "a", 5)
	slices.Reverse(list)
	if !slices.Equal(first, draw(list, "a", 5)) {
		t.Error("the order of the list matters")
	}
	if slices.Equal(first, draw(list, "b", 5)) {
		t.Error("the seed does not matter")
	}
}

// TestEveryHostIsAsProbable counts how often each of 20 hosts is among the 5 drawn, over 2,000 seeds. The expected number is 500, and the
// deviation must not exceed 97, which is five standard deviations.
func TestEveryHostIsAsProbable(t *testing.T) {
	times := map[string]int{}
	for seed := range 2000 {
		for _, d := range draw(people(20), fmt.Sprint(seed), 5) {
			if d.Drawn {
				times[d.URL]++
			}
		}
	}
	for url, n := range times {
		if math.Abs(float64(n)-500) > 97 {
			t.Errorf("%s was drawn %d times", url, n)
		}
	}
	if len(times) != 20 {
		t.Errorf("%d hosts were drawn", len(times))
	}
}

func TestUsage(t *testing.T) {
	good := file(t, "a.example\n")
	for args, code := range map[string]int{
		"-help":                            0,
		"-f " + good:                       2,
		"-seed 1":                          2,
		"-seed 1 -per 0 -f " + good:        2,
		"-seed 1 -f " + file(t, "#\n"):     1,
		"-seed 1 -f " + file(t, "a b c"):   1,
		"-seed 1 -f " + file(t, "ftp://a"): 1,
		"-seed 1 -f " + good:               1, // the contact is missing
		"-seed 1 -dry -f " + good:          0,
	} {
		var out, errs bytes.Buffer
		if got := run(t.Context(), strings.Fields(args), &out, &errs, crawler.Config{}); got != code || errs.Len() == 0 || out.Len() > 0 {
			t.Errorf("%q: exit %d, want %d; wrote %q, said %q", args, got, code, &out, &errs)
		}
	}
}
