package job

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"

	"github.com/amble-crawler/amble/internal/jsonl"
	"github.com/amble-crawler/amble/politeness/audit"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/sink"
)

// Follower reads the ledger and the visits of a job incrementally, during the crawl (in this or another process) or afterwards.
// It is not safe for concurrent use.
type Follower struct {
	r              *Reader
	ledger, visits following
	lines          ledger.Parser
	records        sink.Parser
}

// following is the position up to which a file was read.
type following struct {
	name string
	at   int64
	n    int // number of lines read
}

// Follow returns a Follower that starts at the first line.
func (r *Reader) Follow() *Follower {
	return &Follower{r: r, ledger: following{name: LedgerName}, visits: following{name: VisitsName}}
}

// AuditConfig returns the settings that the job's ledger is checked against.
func (r *Reader) AuditConfig() (audit.Config, error) { return readAuditConfig(r.dir) }

// Poll calls line and visit with each line written since the last call; the arguments are valid until the functions return. A
// visit that was not committed before its process was killed may be followed by the one that replaces it.
func (f *Follower) Poll(line func(*ledger.Entry), visit func(*sink.Record)) error {
	var e ledger.Entry
	err := f.ledger.poll(f.r.files.plainDir, func(b []byte) error {
		err := f.lines.Parse(b, &e)
		if err == nil {
			line(&e)
		}
		return err
	})
	if err != nil {
		return readError(err)
	}
	var v sink.Record
	return readError(f.visits.poll(f.r.files.plainDir, func(b []byte) error {
		err := f.records.Parse(b, &v)
		if err == nil {
			visit(&v)
		}
		return err
	}))
}

// poll calls f with each new complete line, without its line end. A file that does not exist yet has no lines.
func (p *following) poll(d plainDir, f func(line []byte) error) error {
	file, err := d.stream(p.name)
	if missingFile(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read, so an error of closing loses nothing
	size := file.Size()
	if size == p.at {
		return nil
	}
	p.at = min(p.at, size) // the file may have been cut back to the last commit
	if _, err := file.Seek(p.at, io.SeekStart); err != nil {
		return err
	}
	br := bufio.NewReaderSize(file, 1<<18)
	var b []byte
	for {
		var err error
		b, err = jsonl.ReadLine(br, b)
		if errors.Is(err, io.EOF) {
			return nil // the last line is still being written
		}
		if err != nil {
			return fmt.Errorf("line %d of %s: %w", p.n+1, d.path(p.name), err)
		}
		p.n++
		if err := f(b[:len(b)-1]); err != nil {
			return fmt.Errorf("line %d of %s: %w", p.n, d.path(p.name), err)
		}
		p.at += int64(len(b))
	}
}

// Running reports whether a process works on the job. It does not hinder that process. It is uncertain if the process may be on
// another machine.
func (r *Reader) Running() bool {
	m, err := r.Manifest()
	if err != nil || !m.Last().Ended.IsZero() {
		return false
	}
	host, _ := os.Hostname() // "" if it is not known
	if m.Last().Host.Name != host {
		return true // only the other machine knows whether the process still runs
	}
	p, err := os.FindProcess(m.Last().PID)
	if err != nil {
		return false
	}
	defer func() { _ = p.Release() }()
	return runtime.GOOS == "windows" || !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
