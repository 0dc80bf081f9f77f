package main

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// durably is how a job is begun or gone on with.
type durably struct {
	fresh bool  // the directory must be empty
	retry words // outcomes that are tried again
}

// durable runs a crawl whose everything is in the directory that --out names, or goes on with it.
func (c *crawlFlags) durable(a *app, o *origins, cfg crawler.Config, seeds []weburl.URL, how durably) error {
	if err := c.absolutePaths(); err != nil {
		return err
	}
	all := c.jobSettings(o)
	if how.fresh {
		if err := checkFresh(c.Out); err != nil {
			return err
		}
	}
	if len(how.retry) == 0 {
		if done, err := c.toldFinished(a, all, texts(seeds)); done || err != nil {
			return err
		}
	}
	j, err := openJob(c.Out)
	if err != nil {
		return err
	}
	end, err := c.runJob(a, j, cfg, all, seeds, how.retry)
	c.tellHow(a, c.Out, end)
	return errors.Join(c.verdict(end, err), outputError(j.close()))
}

// checkFresh holds that the directory has nothing in it.
func checkFresh(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return outputError(err)
	}
	return cli.Refuse(len(entries) > 0, "--fresh: directory %s is not empty: name another one, or leave --fresh out to go on with the crawl in it", dir)
}

// toldFinished says of a job at its end that it is, and reports whether that is all there is to do.
func (c *crawlFlags) toldFinished(a *app, all []setting, seeds []string) (bool, error) {
	m, err := readManifest(c.Out)
	if err != nil || m == nil || !m.finished() {
		return false, err
	}
	_, err = changes(c.Out, m.Settings, recorded(all))
	added, seedErr := seedChanges(c.Out, m.Seeds, seeds)
	if err = errors.Join(err, seedErr); err != nil || len(added) > 0 {
		return false, err
	}
	newUI(a, c.outputFlags).tell("job %s ended at %s with nothing left (%s, %s): nothing is changed; its summary: amble report %s",
		c.Out, m.last().Ended.Format(time.RFC3339), cli.Plural(m.last().Pages, "page"), cli.Plural(m.last().Requests, "request"), cli.ShellWord(c.Out))
	return true, nil
}

// jobSettings are the settings that the job's file holds: all but the place of the seeds, which it has
// itself.
func (c *crawlFlags) jobSettings(o *origins) []setting {
	var kept []setting
	for _, s := range c.settings(o) {
		if s.name == "proxy" {
			s.value = withoutSecrets(s.value)
		}
		if s.name != "seeds" {
			kept = append(kept, s)
		}
	}
	return kept
}

// absolutePaths makes the files that settings name found from any place.
func (c *crawlFlags) absolutePaths() error {
	var err error
	for _, p := range []*string{&c.OwnHosts, &c.OptOut, &c.Since} {
		if *p != "" && err == nil {
			*p, err = filepath.Abs(*p)
		}
	}
	return err
}

// runJob runs the crawl in an open directory.
func (c *crawlFlags) runJob(a *app, j *jobDir, cfg crawler.Config, all []setting, seeds []weburl.URL, retry words) (*ending, error) {
	out, err := c.openJob(j, &cfg, all, seeds)
	if err != nil {
		return nil, err
	}
	if out.commits.began {
		newUI(a, c.outputFlags).tell("job %s was begun by a version that kept no hashes of its files: they are kept from here on", j.dir)
	}
	end, err := a.crawl(&crawlJob{
		cfg: cfg, seeds: seeds, flags: c.outputFlags, stdoutFree: true, resume: resumeCommand(j.dir),
		before: func(x *crawler.Crawler) error {
			err := j.replay(x, out)
			newUI(a, c.outputFlags).tellSkew(j.files.path(ledgerName), x.Gate())
			return firstOf(err, j.retry(x, out, retry))
		},
	})
	err = j.files.queueError(err)
	closed := out.close()
	if err == nil {
		err = closed
	}
	if end != nil {
		err = firstOf(err, j.report(end))
	}
	err = firstOf(err, j.end(time.Now(), end, out.commits.extents, err))
	if err == nil && end.signal == 0 {
		err = outputError(writePage(j.dir, j.manifest, newReport(end, nil)))
	}
	return end, err
}

// openJob begins the job, or resumes it: then nothing is changed before its files have been found sound.
func (c *crawlFlags) openJob(j *jobDir, cfg *crawler.Config, all []setting, seeds []weburl.URL) (*outputs, error) {
	fresh := j.manifest == nil
	if err := j.begin(time.Now(), all, texts(seeds)); err != nil {
		return nil, err
	}
	if fresh {
		if err := j.note(all); err != nil {
			return nil, err
		}
	}
	out, err := j.openOutputs(cfg, c.archives())
	if err == nil && !fresh {
		err = j.note(all)
	}
	own, ownErr := c.ownHostKeys()
	if err = errors.Join(err, ownErr); err == nil {
		err = writeAuditConfig(j.files, cfg, own)
	}
	switch {
	case err == nil:
		return out, nil
	case out != nil:
		err = errors.Join(err, out.close())
	}
	if fresh {
		err = errors.Join(err, j.end(time.Now(), nil, nil, err))
	}
	return nil, err
}

// firstOf is err, or if there is none, next. What comes after a failure to write is mostly the same
// failure.
func firstOf(err, next error) error {
	if err != nil {
		return err
	}
	return next
}

// report writes the report of the whole job.
func (j *jobDir) report(end *ending) error {
	return outputError(j.files.replace(reportName, append(newReport(end, nil).line(), '\n')))
}

// replay lets the gate go on from where the process before was.
func (j *jobDir) replay(c *crawler.Crawler, out *outputs) error {
	err := c.Gate().Replay(out.ledger.Reader(), j.robotsBody)
	if errors.Is(err, politeness.ErrReplay) {
		return cli.Usage("job %s cannot be gone on with: what it may ask for and when is told by its %s, which was changed: %w", j.dir, ledgerName, err)
	}
	return outputError(err)
}

// tellSkew says that a ledger is dated in the future, if it is.
func (u *ui) tellSkew(ledger string, g *politeness.Gate) {
	behind, longest := g.Skew()
	if behind < time.Second {
		return
	}
	u.tell("the clock of this machine is %v behind the last lines of %s: it is wrong, or was wrong then. Each pause that was due begins anew, %v at most, and robots.txt files are fetched again",
		behind.Round(time.Second), ledger, longest.Round(time.Millisecond))
}

// robotsBody reads a robots.txt as it was received.
func (j *jobDir) robotsBody(sha256 string) ([]byte, error) { return keptRobots(j.dir, sha256) }

// resumeCommand is what a person types to go on with the job.
func resumeCommand(dir string) string { return "amble resume " + cli.ShellWord(dir) }

// tellHow tells a person how a job that did not end goes on.
func (c *crawlFlags) tellHow(a *app, dir string, end *ending) {
	if end == nil || end.Finish == crawler.FinishDone || end.signal != 0 {
		return // nothing is left, or it was said when the signal came
	}
	command := resumeCommand(dir)
	if end.Finish.Limit() || end.Finish == crawler.FinishErrors {
		command += " --" + limitName(end.Finish) + " MORE"
	}
	newUI(a, c.outputFlags).tell("to go on: %s", command)
}
