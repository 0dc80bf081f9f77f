package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/internal/hidden"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/audit"
	"github.com/amble-crawler/amble/robots"
)

// verifyCmd is "amble verify".
type verifyCmd struct {
	Dir  string `arg:"" name:"dir" help:"Directory that \"amble crawl -o\" wrote."`
	JSON bool   `help:"Print the result as JSON."`
}

// Help is the beginning of the command's help.
func (*verifyCmd) Help() string {
	return `Examples:

	amble verify job
	amble verify --json job | jq .violations
	amble verify job >check.txt || tail check.txt

Holds the ledger of every request against the robots.txt files as they were received and the delays
in force. The check shares no code with the part that admitted the requests. Exit code 7 on a
violation.

Holds the files, too, against the lengths and SHA-256 hashes that were recorded with each commit, and the
visits against the requests. Exit code 6 when a file is shorter, or another, than it was.`
}

// Run executes the command.
func (c *verifyCmd) Run(a *app, o *origins) error {
	cfg, err := readAuditConfig(c.Dir)
	if err != nil {
		return err
	}
	if cfg.Overrides, err = c.mandates(o); err != nil {
		return err
	}
	v, err := c.files()
	if err != nil {
		return err
	}
	ledger, err := openPlain(c.Dir, ledgerName)
	switch {
	case errors.Is(err, fs.ErrNotExist) && damaged(v.Files) > 0:
		return v.print(a, c.JSON)
	case err != nil:
		return cli.Usage("%s holds no crawl that can be checked: %w", c.Dir, err)
	}
	defer func() { _ = ledger.Close() }() // only read
	v.Report, err = audit.Check(ledger, cfg, c.body)
	if err != nil && damaged(v.Files) == 0 {
		return readError(err)
	}
	return v.print(a, c.JSON)
}

// verified is what verify has found.
type verified struct {
	*audit.Report             // nil: there is no ledger
	Files         []fileCheck `json:"files"`
	FilesNote     string      `json:"files_note,omitempty"` // what was not checked of the files, and why
	Matching      *matching   `json:"matching,omitempty"`   // nil: a file to be compared is damaged
	Queue         string      `json:"queue,omitempty"`      // what is wrong with the queue

	queue error
}

// files checks the files of the job as such: that all are there that were committed, as they were.
func (c *verifyCmd) files() (*verified, error) {
	v := &verified{Files: []fileCheck{}}
	m, err := readManifest(c.Dir)
	if err != nil {
		return nil, err
	}
	if m == nil {
		v.FilesNote = "files were not held against what was committed: there is no " + manifestName
		return v, nil
	}
	d, err := openDir(c.Dir)
	if err != nil {
		return nil, readError(err)
	}
	defer func() { _ = d.close() }() // only read
	r := d.records(m)
	if v.FilesNote, v.queue = r.note, r.queue; v.queue != nil {
		v.Queue = v.queue.Error()
	}
	if v.Files, err = d.check(r); err != nil {
		return nil, readError(err)
	}
	if damaged(v.Files) == 0 {
		v.Matching, err = match(c.Dir, m.finished())
	}
	var dam *damage
	if errors.As(err, &dam) {
		err = cli.Exit(cli.ExitOutput, dam)
	}
	return v, readError(err)
}

// print prints what was found and returns the error that it calls for.
func (v *verified) print(a *app, asJSON bool) error {
	var err error
	if asJSON {
		err = cli.PrintJSON(a.out, v)
	} else {
		_, err = a.out.Write([]byte(v.text()))
	}
	switch n := damaged(v.Files); {
	case err != nil:
		return err
	case v.Report != nil && len(v.Violations) > 0:
		return cli.Exit(cli.ExitPoliteness, fmt.Errorf("%s of the politeness invariants", cli.Plural(len(v.Violations), "violation")))
	case n > 0:
		return cli.Exit(cli.ExitOutput, fmt.Errorf("%s not as committed: put back what was there, or leave the job as it is and crawl into a new directory", cli.Plural(n, "file")))
	case v.queue != nil:
		return v.queue
	case v.Matching != nil && v.Matching.fault() != "":
		return cli.Exit(cli.ExitOutput, fmt.Errorf("%s and %s do not go together: %s", visitsName, ledgerName, v.Matching.fault()))
	}
	return nil
}

func (v *verified) text() string {
	var b strings.Builder
	if v.Report != nil {
		b.WriteString(auditText(v.Report))
	}
	b.WriteString(filesText(v.Files))
	if v.FilesNote != "" {
		fmt.Fprintf(&b, "note: %s\n", v.FilesNote)
	}
	if v.Matching != nil {
		b.WriteString(v.Matching.text())
	}
	return b.String()
}

// mandates are the overrides that the job was given, not nil.
func (c *verifyCmd) mandates(o *origins) ([]audit.Mandate, error) {
	given := []audit.Mandate{}
	b, err := readPlain(c.Dir, jobName)
	if errors.Is(err, fs.ErrNotExist) {
		return given, nil
	}
	if err != nil {
		return nil, readError(err)
	}
	job, err := parseJobFile(filepath.Join(c.Dir, jobName), b, jobKeys(o.ctx.Model))
	if err != nil {
		return nil, cli.Usage("%w", err)
	}
	for _, v := range job.overrides {
		given = append(given, audit.Mandate{Origin: v.Origin, Reason: v.Reason, Until: v.Until})
	}
	return given, nil
}

// body reads a robots.txt as it was received.
func (c *verifyCmd) body(sha256 string) ([]byte, error) { return keptRobots(c.Dir, sha256) }

// auditText is the result as a person reads it.
func auditText(rep *audit.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s to %s, by %s", cli.Plural(rep.Requests, "request"), cli.Plural(len(rep.Hosts), "host"), processes(rep.Runs))
	if rep.Unfinished > 0 {
		fmt.Fprintf(&b, ", %d cut off", rep.Unfinished)
	}
	fmt.Fprintf(&b, "\n%-40s %9s %12s %12s\n", "host", "requests", "least pause", "due there")
	for _, h := range rep.Hosts {
		if h.Least < 0 {
			fmt.Fprintf(&b, "%-40s %9d %12s %12s\n", cli.Printable(h.Host), h.Requests, "-", "-")
			continue
		}
		fmt.Fprintf(&b, "%-40s %9d %12s %12s\n", cli.Printable(h.Host), h.Requests, h.Least.Round(time.Millisecond), h.Required.Round(time.Millisecond))
	}
	for _, v := range rep.Violations {
		fmt.Fprintf(&b, "violation: %s\n", cli.Printable(v.String()))
	}
	for _, o := range rep.Overrides {
		fmt.Fprintf(&b, "override: %s by other rules than %s/robots.txt: %s\n", cli.Plural(o.Requests, "request"), cli.Printable(o.Origin), cli.Printable(o.Reason))
	}
	for _, n := range rep.Notes {
		fmt.Fprintf(&b, "note: %s\n", cli.Printable(n))
	}
	if len(rep.Violations) == 0 {
		b.WriteString("no violation\n")
	}
	return b.String()
}

func processes(n int) string {
	if n == 1 {
		return "1 process"
	}
	return fmt.Sprintf("%d processes", n)
}

// userAgent is the header of every request.
func userAgent(cfg *crawler.Config) string {
	name, version, _ := strings.Cut(cfg.Agent, "/")
	return politeness.Identity{Product: name, Version: version, Contact: cfg.Contact}.UserAgent()
}

const auditFile = "politeness.json"

// writeAuditConfig notes beside a crawl's results what it was told, for verify.
func writeAuditConfig(d plainDir, cfg *crawler.Config, own map[string]int) error {
	name, _, _ := strings.Cut(cfg.Agent, "/")
	p := cfg.Politeness
	c := audit.Config{
		Product: name, UserAgent: userAgent(cfg), Contact: cfg.Contact, Delay: max(0, p.Delay).Seconds(),
		DelayFactor: max(0, p.DelayFactor), MaxDelay: p.MaxDelay.Seconds(), MaxRetryAfter: max(0, p.MaxRetryAfter).Seconds(),
		MaxBackoff: p.MaxBackoff.Seconds(), PerDomain: p.PerDomain, OwnHosts: own, ForbidDenies: p.ForbiddenDenies,
	}
	if p.Dialect != robots.RFC9309 {
		c.Dialect = p.Dialect.String()
	}
	if before, err := readAuditConfig(d.root.Name()); err == nil {
		loosen(&c, &before)
	}
	b, err := json.MarshalIndent(c, "", "  ")
	if err == nil {
		err = d.replace(auditFile, append(hidden.Escape(b), '\n'))
	}
	return outputError(err)
}

// loosen lets c hold for requests that were made under before, too: a ledger is one file, whatever was
// changed meanwhile.
func loosen(c, before *audit.Config) {
	c.Delay, c.DelayFactor = min(c.Delay, before.Delay), min(c.DelayFactor, before.DelayFactor)
	c.MaxDelay, c.MaxBackoff = min(c.MaxDelay, before.MaxDelay), min(c.MaxBackoff, before.MaxBackoff)
	if c.MaxRetryAfter > 0 && (before.MaxRetryAfter == 0 || before.MaxRetryAfter > c.MaxRetryAfter) {
		c.MaxRetryAfter = before.MaxRetryAfter
	}
}

func readAuditConfig(dir string) (c audit.Config, err error) {
	b, err := readPlain(dir, auditFile)
	if err != nil {
		return c, cli.Usage("%s holds no crawl that can be checked: %w", dir, err)
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return c, damagedSettings(filepath.Join(dir, auditFile), err)
	}
	return c, nil
}
