package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
)

// TestVerifyDetectsTampering checks that the audit of the ledger detects tampering, even without the recorded lengths and hashes of files.
func TestVerifyDetectsTampering(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			_, _ = w.Write([]byte("User-agent: *\nDisallow: /no\n"))
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<a href=/1>x</a><a href=/2>x</a>"))
	}))
	defer srv.Close()
	ledger := func(change func(string) string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, job.LedgerName), change)
		}
	}
	body := func(text string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			files, err := filepath.Glob(filepath.Join(dir, "robots", "*.txt"))
			if err != nil || len(files) != 1 {
				t.Fatal(files, err)
			}
			edit(t, files[0], func(string) string { return text })
		}
	}
	for name, c := range map[string]struct {
		tamper func(t *testing.T, dir string)
		want   string
	}{
		"nothing":            {func(*testing.T, string) {}, ""},
		"a request":          {ledger(without(`"id":2[,}]`)), `P10: permits 2 to 2 of \w+ have no line`},
		"a host's pages":     {ledger(without(`"id":[2-4][,}]`)), ""}, // only the length of the committed files shows that the last lines are missing
		"all but the last":   {ledger(without(`"id":[1-3][,}]`)), `P10: permits 1 to 3 of \w+ have no line`},
		"rules changed":      {body("User-agent: *\nDisallow:\n"), `P2 .*the kept body of .*/robots.txt is not the one that was received`},
		"rules emptied":      {body(""), `P2 .*the kept body of .*/robots.txt is not the one that was received`},
		"an override's line": {ledger(func(s string) string { return strings.Replace(s, `,"agent":`, `,"override":"leave","agent":`, 2) }), `P2 .*was let through by an override \(leave\) that was not given`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "job")
			a, _, errs := testApp(nil)
			if code := a.run([]string{"crawl", "-q", "-o", dir, "-w", "0s", srv.URL + "/"}); code != cli.ExitDone {
				t.Fatal(code, errs)
			}
			c.tamper(t, dir)
			a, out, _ := testApp(nil)
			code := a.run([]string{"verify", dir})
			if c.want == "" {
				if strings.Contains(out.String(), "violation: ") || name == "nothing" && code != cli.ExitDone || name != "nothing" && code != cli.ExitOutput {
					t.Errorf("exit code %d\n%s", code, out)
				}
				return
			}
			if code != cli.ExitPoliteness || !regexp.MustCompile(`(?m)^violation: `+c.want).Match(out.Bytes()) {
				t.Errorf("exit code %d, want %q in\n%s", code, c.want, out)
			}
		})
	}
}

// edit changes the content of a file.
func edit(t *testing.T, path string, change func(string) string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(change(string(b))), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// without removes the lines that match.
func without(expr string) func(string) string {
	re := regexp.MustCompile(expr)
	return func(s string) string {
		var kept bytes.Buffer
		for line := range strings.Lines(s) {
			if !re.MatchString(line) {
				kept.WriteString(line)
			}
		}
		return kept.String()
	}
}

// TestVerifyHoldsTheLedgerAgainstItsSignedHeads verifies the signed heads of a ledger with keys from the identity that the job used, from a
// folder, and from the published set of keys.
func TestVerifyHoldsTheLedgerAgainstItsSignedHeads(t *testing.T) {
	t.Parallel()
	id, dir := newIdentity(t), filepath.Join(t.TempDir(), "job")
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	a, _, errs := testApp(nil)
	if code := a.run([]string{"crawl", "-q", "-o", dir, "--agent", "labbot/1.0", "--contact", "https://lab.university.edu/crawl", "--sign", id, srv.URL + "/"}); code != cli.ExitDone {
		t.Fatal(code, errs)
	}
	set := filepath.Join(id, "public", ".well-known", "http-message-signatures-directory")
	verify := func(want int, says string, args ...string) {
		t.Helper()
		a, out, errs := testApp(nil)
		code := a.run(append([]string{"verify", dir}, args...))
		if code != want || !strings.Contains(out.String(), says) {
			t.Errorf("%v: exit code %d, want %d and %q in\n%s%s", args, code, want, says, out, errs)
		}
	}
	const good = "5 lines of the ledger in one chain, up to line 4 under 1 signed head\n"
	verify(cli.ExitDone, good)
	verify(cli.ExitDone, good, "--keys", id)
	verify(cli.ExitDone, good, "--keys", set)
	verify(cli.ExitOutput, "line 5: it is a head that proves nothing: ", "--keys", newIdentity(t))
	verify(cli.ExitUsage, "", "--keys", filepath.Join(id, "identity.json"))
	if err := os.Rename(id, id+"-moved"); err != nil {
		t.Fatal(err)
	}
	verify(cli.ExitDone, "signatures of heads were not checked: ")
	edit(t, filepath.Join(dir, job.LedgerName), func(s string) string { return strings.Replace(s, `"status":404`, `"status":410`, 1) })
	verify(cli.ExitOutput, "changed: ledger.jsonl, line 2: ")
}

// TestVerifyReadsAJobFromBeforeTheChain verifies a job of an earlier version, whose ledger has no hash chain.
func TestVerifyReadsAJobFromBeforeTheChain(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "job")
	if err := os.CopyFS(dir, os.DirFS("testdata/job-without-chain")); err != nil {
		t.Fatal(err)
	}
	a, out, errs := testApp(nil)
	if code := a.run([]string{"verify", dir}); code != cli.ExitDone || strings.Count(out.String(), "by an earlier version") != 1 {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}
