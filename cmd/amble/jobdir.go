package main

import (
	"errors"
	"os"
	"strings"
	"time"
)

// What a job directory holds.
const (
	manifestName  = "manifest.json"
	jobName       = "job.yaml"
	lockName      = "lock"
	frontierName  = "frontier"
	lastWriteName = "frontier.last" // when the queue was written last
	visitsName    = "visits.jsonl"
	ledgerName    = "ledger.jsonl"
	robotsName    = "robots"
	archiveName   = "warc"
	reportName    = "report.json"

	newSuffix = ".new" // of files that are being written
)

// jobDir is a job directory that this process has locked.
type jobDir struct {
	dir      string // as the user named it
	files    plainDir
	lock     *os.File
	manifest *manifest // nil in a new one
}

// holdsJob reports whether the directory holds a crawl that was begun.
func holdsJob(dir string) bool {
	if dir == "" {
		return false
	}
	d, err := openDir(dir)
	if err != nil {
		return false
	}
	defer func() { _ = d.close() }() // only read
	begun, err := d.has(manifestName)
	told, err2 := d.has(jobName)
	return begun && told && err == nil && err2 == nil
}

// openJob locks the directory, which is made when missing.
func openJob(dir string) (*jobDir, error) {
	if err := checkJobDir(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, outputError(err)
	}
	files, err := openDir(dir)
	if err != nil {
		return nil, outputError(err)
	}
	j := &jobDir{dir: dir, files: files}
	if err := j.take(); err != nil {
		return nil, errors.Join(err, j.close())
	}
	return j, nil
}

// take locks the directory and reads its manifest.
func (j *jobDir) take() (err error) {
	if j.lock, err = j.files.lockJob(); err != nil {
		return err
	}
	if err := j.files.checkJob(); err != nil { // somebody may have been quicker
		return err
	}
	j.manifest, err = readManifest(j.dir)
	return err
}

// close lets other processes at the directory.
func (j *jobDir) close() error {
	if j.lock == nil {
		return j.files.close()
	}
	return errors.Join(j.lock.Close(), j.files.close())
}

// begin makes this process the one that works on the job, with settings that it may have changed.
func (j *jobDir) begin(now time.Time, all []setting, seeds []string) error {
	run, settings := newRun(now), recorded(all)
	if j.manifest == nil {
		j.manifest = &manifest{Schema: manifestSchema, Created: run.Started, Seeds: seeds}
	} else {
		list, err := changes(j.dir, j.manifest.Settings, settings)
		added, seedErr := seedChanges(j.dir, j.manifest.Seeds, seeds)
		if err := errors.Join(err, seedErr); err != nil {
			return err
		}
		if len(added) > 0 {
			list = append(list, change{Key: keyURLs, To: strings.Join(added, " ")})
		}
		run.Changes, j.manifest.Seeds = list, append(j.manifest.Seeds, added...)
	}
	m := j.manifest
	m.Settings, m.Runs = settings, append(m.Runs, run)
	return nil
}

// note notes that the process works on the job, when its files are known to be sound. It is durable before
// the first request.
func (j *jobDir) note(all []setting) error {
	m := j.manifest
	m.Finish, m.Outputs = "", nil
	if err := m.write(j.files); err != nil {
		return outputError(err)
	}
	urls := setting{name: keyURLs, list: m.Seeds, isList: true, origin: "seeds"}
	return outputError(j.files.replace(jobName, []byte(configText(append([]setting{urls}, all...)))))
}

// end notes how this process ended, and what the files are now, as far as extents do not tell it, if it ended
// in good order.
func (j *jobDir) end(now time.Time, end *ending, extents map[string]extent, runErr error) error {
	m, r := j.manifest, j.manifest.last()
	r.Ended = now.UTC()
	if runErr != nil {
		r.Error = runErr.Error()
	}
	if end != nil {
		r.Finish, r.Pages, r.Requests, r.Left = end.Finish, end.Pages, end.Requests, end.Left
		m.Finish = end.Finish
	}
	if runErr == nil && end != nil && end.signal == 0 {
		var err error
		if m.Outputs, err = fileFacts(j.files, extents); err != nil {
			return outputError(err)
		}
	}
	return outputError(m.write(j.files))
}
