package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/amble-crawler/amble/internal/cli"
)

// reportCmd is "amble report".
type reportCmd struct {
	Dir   string `arg:"" name:"dir" help:"Job directory that \"amble crawl -o\" made."`
	JSON  bool   `help:"Print the report as JSON."`
	Color string `enum:"auto,always,never" default:"auto" placeholder:"WHEN" help:"Colour: auto, always or never (${default})."`
}

// Help is the beginning of the command's help.
func (*reportCmd) Help() string {
	return `Examples:

	amble report job
	amble report --json job | jq .outcomes
	amble report job && xdg-open job/report.html

Prints the summary of a crawl again, and writes it to report.html in the job directory, with the URLs
that failed and who linked to them. The page needs nothing but itself.`
}

// Run executes the command.
func (c *reportCmd) Run(a *app) error {
	m, err := readManifest(c.Dir)
	if err != nil {
		return err
	}
	if m == nil {
		return cli.Usage("directory %s holds no crawl that \"amble crawl -o\" made", c.Dir)
	}
	rep, err := readReport(c.Dir)
	if err != nil {
		return err
	}
	if c.JSON {
		_, err = a.out.Write(append(rep.line(), '\n'))
	} else {
		ui := newUI(a, outputFlags{Color: c.Color})
		_, err = a.out.Write([]byte(ui.summaryText(rep.ending(), nil)))
	}
	if err != nil {
		return err
	}
	return outputError(writePage(c.Dir, m, rep))
}

// readReport reads the report of the last process that came to its end.
func readReport(dir string) (*report, error) {
	path := filepath.Join(dir, reportName)
	b, err := readPlain(dir, reportName)
	if errors.Is(err, os.ErrNotExist) {
		return nil, cli.Usage("job %s has no report yet: no process has come to its end; go on with: %s", dir, resumeCommand(dir))
	}
	if err != nil {
		return nil, readError(err)
	}
	rep := new(report)
	if err := json.Unmarshal(b, rep); err != nil || rep.Schema != reportSchema {
		return nil, cli.Usage("%s is no report of the form %s", path, reportSchema)
	}
	return rep, nil
}
