package crawler_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const hostileIntro = `# Fetching a hostile web

What a crawl does if servers lie, stall, flood and loop. Every line is a test case with default limits unless it says otherwise;
` + "`go test -run Hostile -v ./crawler`" + ` runs them and fails if this page differs; ` + "`-update`" + ` writes the page.

A crawl of all of these sites and a healthy one loses nothing of the healthy one, and stays within 256 MiB (` + "`TestBombsFitInMemory`" + `),
with a flood of links within 300 MiB (` + "`TestFloodFitsInMemory`" + `). An outcome is ` + "`outcome`, `status` and `reason`" + ` of a line of
visits.jsonl: with a reason, ` + "`fetched`" + ` is a page that could not be received completely.

Control characters, marks that change the direction of writing, and invisible characters are escaped (` + "`\\u202e`" + `) on terminals and in every
output. User and password of a Location, or of another reference that is refused for having them, are masked
(` + "`http://*****@host/`" + `). Only a web archive contains what was received, byte for byte but for the values of cookies, which are masked in a
crawl with cookies: it is evidence, and must be treated with care.
`

// hostileBudgets has a tilde for each backtick.
const hostileBudgets = `
## Budgets

Whatever a URL of the queue costs comes from a budget, of its host and of the crawl. With ~--max-pages~ and ~--max-per-host~ every
row has an end; ~--max-per-host~ has no default. ~TestEveryBudgetHolds~ lets a hostile web loose on each row.

| what | of a host | of the crawl | what is left out |
|---|---|---|---|
| pages | ~--max-per-host~: none | ~--max-pages~: 1,000 | ~deferred~, ~host_budget~; the rest stays in the queue |
| sitemaps, which are also counted as pages | ~--max-sitemaps~: 500 | ~--max-pages~ | ~deferred~, ~sitemap_budget~ |
| robots.txt, but for seeds | 20 for each page of ~--max-per-host~ | ~--max-robots-requests~: 20 for each page of ~--max-pages~ | ~deferred~, ~robots_budget~ |
| what rendered pages load | 60 for a page (~render.Policy.MaxRequests~) | ~--max-resources~: 20 for each page of ~--max-pages~ | ~render_requests~, ~render_resources~ |
| processor time of the browser | ~--render-processor~: 20 s for a page; the host is left static after three in a row | the same for each page of ~--max-pages~ | ~render_stuck~, ~render_host~ |
| bytes and time | ~max-bytes~ and ~max-time~ of ~hosts~: none | ~--max-bytes~, ~--max-time~: none | ~host_budget~; the rest stays in the queue |

The counts outlive a kill. In a cluster, only ~--max-pages~, ~--max-bytes~, ~--max-time~ and ~--max-errors~ hold for all nodes
together; ~--max-robots-requests~ has no default there. A watch has its own budget of requests a day.

| a server can | what limits it |
|---|---|
| name fresh sitemap indexes in each index | two indexes may lead to a sitemap; ~--max-sitemaps~; ~--max-per-host~ and ~--max-pages~ count sitemaps; pages take turns with them |
| name 50,000 sitemaps in one index or robots.txt | at most twice ~--max-sitemaps~ get into the queue |
| invent hosts whose robots.txt forbids all and names a sitemap of the next host | ~--max-robots-requests~ |
| invent hosts whose pages link to each other | ~--max-pages~ and the scope |
| link to 100,000 URLs on a page | ~--max-links~: 10,000 are read |
| redirect for ever | ~--max-redirects~: 10 in a chain |
| fail, so that URLs are tried again | ~--retries~: 2 for a URL; a budget of retries for the host and the crawl; a host that fails on and on is left |
| invent queries, paths, calendars, sessions | [traps](#traps) |
| load from a page what a page never needs | ~render.Policy.MaxRequests~, ~MaxOrigins~, ~MaxRounds~, ~MaxWait~ |
| keep tabs of the browser busy | ~--render-processor~ |
| ask for ever longer pauses | ~--max-retry-after~ and ~--max-crawl-delay~: the host is left |
`

// TestHostileTable compares docs/hostile.md with the outcome of each case.
func TestHostileTable(t *testing.T) {
	var b strings.Builder
	b.WriteString(hostileIntro)
	b.WriteString(strings.ReplaceAll(hostileBudgets, "~", "`"))
	b.WriteString("\n## On the wire\n\n| the server | outcome |\n|---|---|\n")
	for _, h := range hostileSites(t, 1) {
		fmt.Fprintf(&b, "| %s | %s |\n", h.does, cells(h.want))
	}
	for _, h := range http2Hostile {
		fmt.Fprintf(&b, "| %s | %s |\n", h.does, cells(h.want))
	}
	cases := slices.Concat(limitCases(), decodingCases(), charsetCases(t), typeCases(), redirectCases(), addressCases(),
		networkCases(), retryCases(), trapCases(), panicCases())
	group := ""
	for _, c := range cases {
		if c.group != group {
			group = c.group
			fmt.Fprintf(&b, "\n## %s\n\n| case | outcome | |\n|---|---|---|\n", group)
		}
		t.Run(c.group+"/"+c.does, func(t *testing.T) {
			line, also := c.outcome(t)
			t.Logf("%s: %s; %s", c.does, line, also)
			fmt.Fprintf(&b, "| %s | %s | %s |\n", short(c.does), cells(line), strings.ReplaceAll(short(also), "|", "\\|"))
		})
	}
	path := filepath.Join("..", "docs", "hostile.md")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	compareLines(t, string(want), b.String())
}

// cells formats an outcome as code.
func cells(line string) string { return "`" + line + "`" }

// short omits the middle of long texts.
func short(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > 160 {
		return s[:80] + " … " + s[len(s)-40:]
	}
	return s
}

func compareLines(t *testing.T, want, got string) {
	t.Helper()
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for _, l := range g {
		if !slices.Contains(w, l) {
			t.Errorf("not in docs/hostile.md: %s", l)
		}
	}
	for _, l := range w {
		if !slices.Contains(g, l) {
			t.Errorf("only in docs/hostile.md: %s", l)
		}
	}
}
