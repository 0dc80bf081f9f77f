package main

import (
	"fmt"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/report"
)

// verifyCmd is "amble verify".
type verifyCmd struct {
	Dir  string `arg:"" name:"dir" help:"Directory that \"amble crawl -o\" wrote."`
	Keys string `placeholder:"DIR|FILE" help:"Public keys for the signed heads of the ledger: the folder of an identity or a JWK Set (that of --sign)."`
	JSON bool   `help:"Print the result as JSON."`
}

// Help returns the beginning of the command's help.
func (*verifyCmd) Help() string {
	return `Examples:

	amble verify job
	amble verify --json job | jq .violations
	amble verify job >check.txt || tail check.txt

Checks the ledger of every request against the robots.txt files as they were received and the delays
in force. The check shares no code with the part that admitted the requests. Exit code 7 on a
violation.

Compares the files, too, with the lengths and SHA-256 hashes that were recorded with each commit and with
SHA256SUMS, and the visits with the requests; and each line of the ledger with the chain of hashes over all lines, whose
heads are signed in a crawl with --sign. Exit code 6 when a file is shorter than it was, or different.`
}

// Run executes the command.
func (c *verifyCmd) Run(a *app) error {
	r, err := job.Read(c.Dir)
	if err != nil {
		return cli.Usage("%s holds no crawl that can be checked: %w", c.Dir, err)
	}
	defer func() { _ = r.Close() }() // only read
	var keys job.PublicKeys
	if c.Keys != "" {
		if keys, err = job.ReadKeys(c.Keys); err != nil {
			return cli.UsageOf("--keys: ", err)
		}
	}
	v, err := r.VerifyBy(keys)
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

// verdictOf returns the error that the result of a verification requires.
func verdictOf(v *job.Verification) error {
	switch n := v.Damaged(); {
	case v.Report != nil && len(v.Violations) > 0:
		return cli.Exit(cli.ExitPoliteness, fmt.Errorf("%s of the politeness invariants", cli.Plural(len(v.Violations), "violation")))
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
