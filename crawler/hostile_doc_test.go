package crawler_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const hostileMark = "<!-- go test ./crawler -run HostileTable -update writes the tables from here on. -->\n"

const hostileIntro = `
## Outcomes at hostile servers

Each line is a test case, with default limits unless it says otherwise. An outcome is ` + "`outcome`, `status` and `reason`" + ` of a line of
visits.jsonl: with a reason, ` + "`fetched`" + ` is a page that could not be received completely.
`

// TestHostileTable compares the last part of docs/reference.md with the actual outcome of each case.
func TestHostileTable(t *testing.T) {
	var b strings.Builder
	b.WriteString(hostileIntro)
	b.WriteString("\n### On the wire\n\n| the server | outcome |\n|---|---|\n")
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
			fmt.Fprintf(&b, "\n### %s\n\n| case | outcome | |\n|---|---|---|\n", group)
		}
		t.Run(c.group+"/"+c.does, func(t *testing.T) {
			line, also := c.outcome(t)
			t.Logf("%s: %s; %s", c.does, line, also)
			fmt.Fprintf(&b, "| %s | %s | %s |\n", short(c.does), cells(line), strings.ReplaceAll(short(also), "|", "\\|"))
		})
	}
	path := filepath.Join("..", "docs", "reference.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, want, ok := strings.Cut(string(page), hostileMark)
	if !ok {
		t.Fatalf("%s has no line %s", path, hostileMark)
	}
	if *update {
		if err := os.WriteFile(path, []byte(before+hostileMark+b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	compareLines(t, want, b.String())
}

// cells formats an outcome as code.
func cells(line string) string { return "`" + line + "`" }

// short cuts the middle out of long texts.
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
			t.Errorf("not in docs/reference.md: %s", l)
		}
	}
	for _, l := range w {
		if !slices.Contains(g, l) {
			t.Errorf("only in docs/reference.md: %s", l)
		}
	}
}
