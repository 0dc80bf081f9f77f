package main

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/article/document"
	"github.com/amble-crawler/amble/cmd/amble/internal/kept"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export/corpus"
	"github.com/amble-crawler/amble/job/report"
	"github.com/amble-crawler/amble/politeness/machine"
)

// verifyCmd is "amble verify".
type verifyCmd struct {
	Dir    []string `arg:"" type:"job" optional:"" name:"dir" help:"Directory that \"amble crawl -o\" wrote; of several, the requests are checked against each other, too."`
	Keys   string   `placeholder:"DIR|FILE" help:"Public keys for the signed heads of the ledger: the folder of an identity or a JWK Set (that of --sign)."`
	All    bool     `help:"Check the jobs that the state directory knows of, together."`
	State  string   `placeholder:"DIR" help:"State directory for --all, if it is not that of the user."`
	JSON   bool     `help:"Print the result as JSON."`
	Replay bool     `help:"Make the whole crawl again from its archive, without a request, and compare every visit with the recorded one."`

	found []string // entries of Dir that came from the state directory
}

// Help returns the beginning of the command's help.
func (*verifyCmd) Help() string {
	return `Examples:

	amble verify job
	amble verify --json job | jq .violations
	amble verify monday tuesday shop
	amble verify --replay corpus monday tuesday

Checks the ledger of every request against the robots.txt files as they were received and the delays
in force. The check shares no code with the part that admitted the requests. Exit code 7 on a
violation.

Of several directories it checks each, and then all requests together, as if one crawl had made them: one at a time to
a host or address, the longest pause that either of two crawls owes, and a Retry-After that one of them was told. So it
finds crawls that were run beside each other. Where their clocks may have differed, what is not proven is counted apart.

Computes what sites say about the uses of each page once more, from the files that were kept, and names the URL of each verdict
that does not follow from them. That, too, is exit code 7.

Compares the files, too, with the lengths and SHA-256 hashes that were recorded with each commit and with
SHA256SUMS, and the visits with the requests; and each line of the ledger with the chain of hashes over all lines, whose
heads are signed in a crawl with --sign. Exit code 6 when a file is shorter than it was, or different.

With --replay it makes the whole crawl again from the answers in the archive, without a request and without waiting: each
robots.txt is obeyed, each page parsed, each link judged as then. A visit that differs is named, with what it was and what it
is, except for times and for what only the network of then could decide. Exit code 6 if one does.

Of a corpus (amble export --to corpus) it compares the files with their hashes, and with --replay and the jobs that it was made from
its parts with those that the jobs give today.`
}

// Run executes the command.
func (c *verifyCmd) Run(a *app) error {
	var keys job.PublicKeys
	var err error
	if c.Keys != "" {
		if keys, err = job.ReadKeys(c.Keys); err != nil {
			return cli.UsageOf("--keys: ", err)
		}
	}
	if c.All {
		if err := c.findAll(a); err != nil {
			return err
		}
	}
	if len(c.Dir) == 0 {
		return cli.Usage("name the directory of a crawl, or give --all")
	}
	if corpus.Holds(c.Dir[0]) && !job.Holds(c.Dir[0]) {
		return c.corpus(a)
	}
	if c.Replay {
		if len(c.Dir) > 1 || c.Keys != "" {
			return cli.Usage("--replay is for one job, and without --keys")
		}
		return (&replayCmd{Dir: c.Dir[0], JSON: c.JSON}).Run(a)
	}
	if len(c.Dir) > 1 {
		return c.together(a, keys)
	}
	v, err := verifyJob(c.Dir[0], keys)
	if err != nil {
		return err
	}
	if c.JSON {
		err = cli.PrintJSON(a.out, v)
	} else {
		_, err = a.out.Write([]byte(report.Verification(v)))
	}
	if err != nil {
		return err
	}
	return verdictOf(v)
}

// corpus checks a corpus. With --replay, it makes the corpus again from the jobs given after it, and compares.
func (c *verifyCmd) corpus(a *app) error {
	dir, jobs := c.Dir[0], c.Dir[1:]
	if c.Keys != "" || c.Replay != (len(jobs) > 0) {
		return cli.Usage("%s is a corpus: name it alone, or give --replay and after it the jobs that it was made from", dir)
	}
	check := func() (*corpus.Verification, error) { return corpus.Verify(dir) }
	if c.Replay {
		readers, closeJobs, err := readJobs(jobs)
		if err != nil {
			return err
		}
		defer closeJobs()
		ctx, stop := a.untilSignal(context.Background())
		defer stop()
		check = func() (*corpus.Verification, error) {
			return corpus.Replay(ctx, dir, "", readers, document.Articles{Reader: documents()})
		}
	}
	v, err := check()
	if err != nil {
		return err
	}
	if c.JSON {
		err = cli.PrintJSON(a.out, v)
	} else {
		_, err = fmt.Fprintf(a.out, "%s compared, %d different\n", cli.Plural(v.Files, "file"), len(v.Differ))
	}
	if n := len(v.Differ); err == nil && n > 0 {
		err = cli.Exit(cli.ExitOutput, fmt.Errorf("not as written: %s%s", strings.Join(v.Differ[:min(n, 3)], ", "), cli.AndMore(n-min(n, 3))))
	}
	return err
}

// verifyJob checks one job.
func verifyJob(dir string, keys job.PublicKeys) (*job.Verification, error) {
	r, err := job.Read(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // opened only for reading
	return r.VerifyBy(keys)
}

// findAll adds the jobs listed in the state directory to Dir, unless they are in it already. It reports jobs that no longer exist.
func (c *verifyCmd) findAll(a *app) error {
	known, err := machine.Jobs(c.State)
	if err != nil {
		return cli.Usage("--all: %w", err)
	}
	var gone, named []string
	for _, dir := range c.Dir {
		if abs, err := filepath.Abs(dir); err == nil {
			named = append(named, abs)
		}
	}
	jobs, folder, err := kept.List(c.State) // kept jobs whose crawls could not share turns at hosts are only here
	if err != nil {
		return cli.Usage("--all: %w", err)
	}
	for i := range jobs {
		if !slices.Contains(known, jobs[i].Dir) {
			known = append(known, jobs[i].Dir)
		}
	}
	for _, dir := range known {
		switch {
		case !job.Holds(dir) && filepath.Dir(dir) == folder: // a kept job that the command amble jobs has removed
		case !job.Holds(dir):
			gone = append(gone, cli.Printable(dir))
		case !slices.Contains(named, dir):
			c.Dir = append(c.Dir, dir)
			c.found = append(c.found, dir)
		}
	}
	if n := len(gone); n > 0 {
		a.note(fmt.Sprintf("amble: not there any more: %s%s", strings.Join(gone[:min(n, 3)], ", "), cli.AndMore(n-min(n, 3))))
	}
	return nil
}

// verifiedJob is one of several jobs in the JSON output.
type verifiedJob struct {
	Dir string `json:"dir"`
	*job.Verification
}

// together verifies several jobs, each by itself and then all together. It opens one job at a time. A job from the state directory that
// cannot be read is reported and left out.
func (c *verifyCmd) together(a *app, keys job.PublicKeys) error {
	all := struct {
		Jobs     []verifiedJob `json:"jobs"`
		Together any           `json:"together"`
	}{}
	if err := distinct(c.Dir); err != nil {
		return err
	}
	violations, verdict := 0, error(nil)
	var dirs []string
	for _, dir := range c.Dir {
		v, err := verifyJob(dir, keys)
		switch found := slices.Contains(c.found, dir); {
		case err != nil && found:
			a.note(fmt.Sprintf("amble: left out: %s: %s", cli.Printable(dir), cli.Printable(err.Error())))
			continue
		case err != nil:
			return err
		case v.Report != nil || !found:
			dirs = append(dirs, dir)
		}
		if v.Report != nil {
			violations += len(v.Violations)
		}
		verdict = cmp.Or(verdict, verdictOf(v))
		if c.JSON {
			all.Jobs = append(all.Jobs, verifiedJob{dir, v})
		} else {
			fmt.Fprintf(a.out, "%s:\n%s\n", cli.Printable(dir), report.Verification(v))
		}
	}
	joint, err := job.VerifyTogether(dirs...)
	if err != nil {
		return err
	}
	if all.Together = joint; c.JSON {
		err = cli.PrintJSON(a.out, all)
	} else {
		_, err = a.out.Write([]byte(report.Together(joint)))
	}
	if err != nil {
		return err
	}
	if violations += len(joint.Violations); violations > 0 {
		return cli.Exit(cli.ExitPoliteness, fmt.Errorf("%s of the politeness invariants", cli.Plural(violations, "violation")))
	}
	return verdict
}

// distinct returns an error if two arguments name the same directory, which would then count twice.
func distinct(dirs []string) error {
	infos := make([]fs.FileInfo, len(dirs))
	for i, dir := range dirs {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		for k, other := range infos[:i] {
			if os.SameFile(info, other) {
				return cli.Usage("%s and %s are the same directory: name each job once", dirs[k], dir)
			}
		}
		infos[i] = info
	}
	return nil
}

// verdictOf returns the command's error for the result of a verification, nil if the job passed.
func verdictOf(v *job.Verification) error {
	switch n := v.Damaged(); {
	case v.Report != nil && len(v.Violations) > 0:
		return cli.Exit(cli.ExitPoliteness, fmt.Errorf("%s of the politeness invariants", cli.Plural(len(v.Violations), "violation")))
	case v.Terms != nil && len(v.Terms.Differ) > 0:
		return cli.Exit(cli.ExitPoliteness, fmt.Errorf("%s about uses that the files do not say", cli.Plural(len(v.Terms.Differ)+v.Terms.More, "verdict")))
	case n > 0:
		return cli.Exit(cli.ExitOutput, fmt.Errorf("%s not as committed: put back what was there, or leave the job as it is and crawl into a new directory", cli.Plural(n, "file")))
	case v.Chain != nil && v.Chain.Fault != "":
		return cli.Exit(cli.ExitOutput, fmt.Errorf("%s was changed after it was written: line %d does not fit", job.LedgerName, v.Chain.Line))
	case v.QueueError != nil:
		return v.QueueError
	case v.Matching != nil && v.Matching.Fault() != "":
		return cli.Exit(cli.ExitOutput, fmt.Errorf("%s and %s do not go together: %s", job.VisitsName, job.LedgerName, v.Matching.Fault()))
	}
	return nil
}
