package job

import (
	"errors"
	"io"

	"github.com/amble-crawler/amble/politeness/audit"
)

// Verification is what Verify has found.
type Verification struct {
	*audit.Report             // of the requests; nil: there is no ledger
	Chain         *ChainCheck `json:"chain,omitempty"` // nil: there is no ledger
	Files         []FileCheck `json:"files"`
	FilesNote     string      `json:"files_note,omitempty"` // what was not checked of the files, and why
	Matching      *Matching   `json:"matching,omitempty"`   // nil: a file to be compared is damaged
	Queue         string      `json:"queue,omitempty"`      // what is wrong with the queue

	QueueError error `json:"-"` // Queue as an error, nil if nothing is
}

// Damaged is how many files are not as they were committed.
func (v *Verification) Damaged() (n int) {
	for _, c := range v.Files {
		if c.Damage != "" {
			n++
		}
	}
	return n
}

// Verify holds the ledger of every request against the robots.txt files as they were received and the delays in force,
// by a check that shares no code with the part that admitted the requests; the files against the lengths and hashes
// that were recorded with each commit; the ledger's lines against their chain, and its signed heads against the keys
// of the identity that the job names; and the visits against the requests. The error is of what could not be read:
// what was found to be wrong is in the Verification.
func (r *Reader) Verify() (*Verification, error) { return r.VerifyBy(nil) }

// VerifyBy is Verify with other keys for the signed heads than those of the job's identity.
func (r *Reader) VerifyBy(keys PublicKeys) (*Verification, error) {
	cfg, err := readAuditConfig(r.dir)
	if err != nil {
		return nil, err
	}
	if cfg.Overrides, err = r.mandates(); err != nil {
		return nil, err
	}
	v, err := r.checkFiles()
	if err != nil {
		return nil, err
	}
	ledger, err := r.files.open(LedgerName)
	switch {
	case missingFile(err) && v.Damaged() > 0:
		return v, nil
	case err != nil:
		return nil, refused("%s holds no crawl that can be checked: %w", r.dir, err)
	}
	defer func() { _ = ledger.Close() }() // only read
	if v.Chain, err = r.checkChain(ledger, keys); err == nil {
		_, err = ledger.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, readError(err)
	}
	if v.Report, err = audit.Check(ledger, cfg, r.RobotsBody); err != nil && v.Damaged() == 0 && v.Chain.Fault == "" {
		return nil, readError(err)
	}
	return v, nil
}

// checkFiles checks the files of the job as such: that all are there that were committed, as they were.
func (r *Reader) checkFiles() (*Verification, error) {
	v := &Verification{Files: []FileCheck{}}
	m, err := readManifest(r.dir)
	if err != nil {
		return nil, err
	}
	if m == nil {
		v.FilesNote = "files were not held against what was committed: there is no " + manifestName
		return v, nil
	}
	known := r.files.records(m)
	if v.FilesNote, v.QueueError = known.note, known.queue; v.QueueError != nil {
		v.Queue = v.QueueError.Error()
	}
	if v.Files, err = r.files.check(known); err != nil {
		return nil, readError(err)
	}
	if v.Damaged() == 0 {
		v.Matching, err = r.files.match(m.Finished())
	}
	var dam *damage
	if errors.As(err, &dam) {
		err = dam
	}
	return v, readError(err)
}

// mandates are the overrides that the job was given, not nil.
func (r *Reader) mandates() ([]audit.Mandate, error) {
	given := []audit.Mandate{}
	f, err := r.File()
	switch {
	case missingFile(err):
		return given, nil
	case err != nil:
		var job *FileError
		if errors.As(err, &job) && errors.As(job.Err, new(*Error)) {
			return nil, job.Err
		}
		return nil, &Error{Kind: Refused, Err: err}
	}
	s, _, ok := f.Get(keyOverrides)
	if !ok {
		return given, nil
	}
	list, err := readOverrides(s.Values)
	if err != nil {
		return nil, &Error{Kind: Refused, Err: err}
	}
	for _, o := range list {
		given = append(given, audit.Mandate{Origin: o.Origin, Reason: o.Reason, Until: o.Until})
	}
	return given, nil
}
