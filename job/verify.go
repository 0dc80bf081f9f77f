package job

import (
	"cmp"
	"errors"
	"io"
	"slices"

	"github.com/amble-crawler/amble/politeness/audit"
)

// Verification is the result of Verify.
type Verification struct {
	*audit.Report             // result for the requests; nil: there is no ledger
	Chain         *ChainCheck `json:"chain,omitempty"` // nil: there is no ledger
	Files         []FileCheck `json:"files"`
	FilesNote     string      `json:"files_note,omitempty"` // files that were not checked, with the reason
	Sums          int         `json:"sums,omitempty"`       // lines of SHA256SUMS that were compared with the files
	Matching      *Matching   `json:"matching,omitempty"`   // comparison of visits and ledger; nil if one of these files is damaged
	Terms         *TermsCheck `json:"terms,omitempty"`      // result for the verdicts about uses; nil: there are no visits
	Queue         string      `json:"queue,omitempty"`      // damage of the queue

	QueueError error `json:"-"` // Queue as an error, or nil
}

// Damaged returns the number of files that differ from their commits.
func (v *Verification) Damaged() (n int) {
	for _, c := range v.Files {
		if c.Damage != "" {
			n++
		}
	}
	return n
}

// Verify checks the job's record. It checks every request in the ledger against the stored robots.txt files and the delays in force,
// with code that is independent of the code that admitted the requests; the files against the lengths and hashes recorded with each
// commit, and against SHA256SUMS if there is one; the lines of the ledger against their chain, and its signed heads against the keys of
// the job's identity; the visits against the requests; and the verdicts about uses, by computing each again. The Verification reports
// faults; the error reports what could not be read.
func (r *Reader) Verify() (*Verification, error) { return r.VerifyBy(nil) }

// VerifyBy is like Verify, but checks the signed heads with the given keys instead of those of the job's identity.
func (r *Reader) VerifyBy(keys PublicKeys) (*Verification, error) {
	cfg, err := readAuditConfig(r.dir)
	if err != nil {
		return nil, err
	}
	if cfg.Overrides, err = r.mandates(); err != nil {
		return nil, err
	}
	if cfg.OptOut, err = r.optedOut(); err != nil {
		return nil, err
	}
	v, err := r.checkFiles()
	if err != nil {
		return nil, err
	}
	exempt := map[string]bool{}
	for _, o := range cfg.Overrides {
		exempt[o.Origin] = true
	}
	if v.Terms, err = r.checkTerms(exempt); err != nil && v.Damaged() == 0 {
		return nil, readError(err)
	}
	ledger, err := r.files.stream(LedgerName)
	switch {
	case v.Damaged() > 0 && (missingFile(err) || errors.As(err, new(*damage))):
		return v, nil
	case err != nil:
		return nil, refused("%s holds no crawl that can be checked: %w", r.dir, err)
	}
	defer func() { _ = ledger.Close() }() // only read, so an error of closing loses nothing
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

// VerifyTogether checks the requests of the jobs in several directories against each other: see [audit.CheckTogether]. [Reader.Verify]
// checks each job by itself. Only one of the jobs is open at a time.
func VerifyTogether(dirs ...string) (*audit.Joint, error) {
	parts := make([]audit.Part, len(dirs))
	for i, dir := range dirs {
		cfg, err := readAuditConfig(dir)
		if err != nil {
			return nil, err
		}
		r := &Reader{dir: dir}
		parts[i] = audit.Part{
			Name: dir, Config: cfg, Machine: r.machine(), Body: func(sha256 string) ([]byte, error) { return r.RobotsBody(sha256) },
			Open: func() (io.ReadCloser, error) {
				open, err := Read(dir)
				if err != nil {
					return nil, err
				}
				ledger, err := open.files.stream(LedgerName)
				if err != nil {
					return nil, errors.Join(refused("%s holds no crawl that can be checked: %w", dir, err), open.Close())
				}
				r = open
				return &openLedger{ledger, open}, nil
			},
		}
	}
	together, err := audit.CheckTogether(parts)
	return together, readError(err)
}

// openLedger is the open ledger of a job.
type openLedger struct {
	io.ReadCloser
	job *Reader
}

func (l *openLedger) Close() error { return errors.Join(l.ReadCloser.Close(), l.job.Close()) }

// machine returns the name of the machine that all processes of the job ran on. If there were several, it is unknown whose clock wrote
// a line, so the returned name is unique to the job.
func (r *Reader) machine() string {
	m, err := readManifest(r.dir)
	if err != nil || m == nil || len(m.Runs) == 0 {
		return "machine of " + r.dir
	}
	name := m.Runs[0].Host.Name
	if name == "" || slices.ContainsFunc(m.Runs, func(run Run) bool { return run.Host.Name != name }) {
		return "machines of " + r.dir
	}
	return name
}

// checkFiles checks that all committed files exist and are unchanged.
func (r *Reader) checkFiles() (*Verification, error) {
	v := &Verification{Files: []FileCheck{}}
	m, err := readManifest(r.dir)
	if err != nil {
		return nil, err
	}
	if m == nil {
		v.FilesNote = "files were not compared with what was committed: there is no " + manifestName
		return v, nil
	}
	known := r.files.records(m)
	if v.FilesNote, v.QueueError = known.note, known.queue; v.QueueError != nil {
		v.Queue = v.QueueError.Error()
	}
	v.FilesNote = cmp.Or(v.FilesNote, r.files.tableNote(m))
	if v.Files, err = r.files.check(known); err != nil {
		return nil, readError(err)
	}
	lines, differ, err := r.files.checkSums(known, v.Files)
	if err != nil {
		return nil, readError(err)
	}
	v.Sums, v.Files = lines, append(v.Files, differ...)
	if v.Damaged() == 0 {
		v.Matching, err = r.files.match(m.Finished())
	}
	var dam *damage
	if errors.As(err, &dam) {
		err = dam
	}
	return v, readError(err)
}

// mandates returns the overrides of the job, never nil.
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
