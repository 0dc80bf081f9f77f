package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// What a job directory holds.
const (
	manifestName = "manifest.json"
	jobName      = "job.yaml"
	lockName     = "lock"
	frontierName = "frontier"
	visitsName   = "visits.jsonl"
	ledgerName   = "ledger.jsonl"
	robotsName   = "robots"
	archiveName  = "warc"
	reportName   = "report.json"

	newSuffix = ".new" // of files that are being written
)

// jobDir is a job directory that this process has locked.
type jobDir struct {
	dir      string
	lock     *os.File
	manifest *manifest // nil in a new one
}

// holdsJob reports whether the directory holds a crawl that was begun.
func holdsJob(dir string) bool {
	if dir == "" {
		return false
	}
	_, err := os.Stat(filepath.Join(dir, manifestName))
	_, err2 := os.Stat(filepath.Join(dir, jobName))
	return err == nil && err2 == nil
}

// checkJobDir reports why the directory can be neither a new job's nor gone on with: nothing is
// changed in it.
func checkJobDir(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return outputError(err)
	}
	names := map[string]bool{}
	foreign := ""
	for _, e := range entries {
		names[e.Name()] = true
		if e.Name() != lockName && !strings.HasSuffix(e.Name(), newSuffix) {
			foreign = e.Name()
		}
	}
	switch {
	case names[manifestName], foreign == "":
		return nil
	case names[jobName] && names[visitsName]:
		return usage("directory %s holds a crawl of an older layout, which cannot be gone on with and is left as it is: name a new directory", dir)
	}
	return usage("directory %s holds %s and no crawl: name an empty directory, or one that is not there yet", dir, foreign)
}

// openJob locks the directory, which is made when missing.
func openJob(dir string) (*jobDir, error) {
	if err := checkJobDir(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, outputError(err)
	}
	lock, err := lockJob(dir)
	if err != nil {
		return nil, err
	}
	j := &jobDir{dir: dir, lock: lock}
	if j.manifest, err = readManifest(dir); err == nil && j.manifest == nil {
		err = checkJobDir(dir) // somebody may have been quicker
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return j, nil
}

// close lets other processes at the directory.
func (j *jobDir) close() error { return j.lock.Close() }

// path is a file of the job.
func (j *jobDir) path(name string) string { return filepath.Join(j.dir, name) }

// begin notes that this process works on the job, with settings that it may have changed. What is
// noted is durable before the first request.
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
	m.Settings, m.Runs, m.Finish, m.Outputs = settings, append(m.Runs, run), "", nil
	if err := m.write(j.dir); err != nil {
		return outputError(err)
	}
	urls := setting{name: keyURLs, list: m.Seeds, isList: true, origin: "seeds"}
	return outputError(replaceFile(j.path(jobName), []byte(configText(append([]setting{urls}, all...)))))
}

// end notes how this process ended, and what the files are now if it ended in good order.
func (j *jobDir) end(now time.Time, end *ending, runErr error) error {
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
		if m.Outputs, err = fileFacts(j.dir); err != nil {
			return outputError(err)
		}
	}
	return outputError(m.write(j.dir))
}
