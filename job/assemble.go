package job

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/jsonl"
	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/politeness/audit"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/warc"
	"github.com/amble-crawler/amble/weburl"
)

// Source is a segment with the location of its node's directory.
type Source struct {
	Segment

	NodeDir string // directory of the node; "" if the directory is not available
	Lacks   string // the missing files, as a sentence; "": no file is missing

	fetched bool // NodeDir is a copy made for the assembly, so its files may be moved
}

// dir returns the directory of the segment.
func (s *Source) dir() string { return filepath.Join(s.NodeDir, s.Dir()) }

// lineFile returns the first bytes of a file of lines of the segment, for a merger.
func (s *Source) lineFile(name string, bytes int64) lineFile {
	return lineFile{path: filepath.Join(s.dir(), filepath.FromSlash(name)), bytes: bytes, offset: -s.ahead()}
}

// Assembly describes a job that many processes have shared and that is assembled into one directory.
type Assembly struct {
	Config  Config
	Seeds   []weburl.URL
	Of      string // the job's description in the manifest: "cluster job NAME"
	Sources []Source
	Report  crawler.Report // report of all segments; Assemble fills in Hosts and Ended
	Orders  []Change       // orders of the operator to the job, in order; the first has the number 1
	MaxSkew time.Duration  // maximum error of a clock that was not measured
}

// collectMark names the file that marks a directory as being assembled. It identifies a directory that a killed process has left.
const collectMark = ".amble-collect"

// Assemble makes a job directory from the committed parts of segments: visits, archives, robots.txt files and ledgers, as if one
// process had written them. The directory must be empty or missing. It appears only when it is complete: until then it has
// another name in the same parent directory.
func Assemble(dir string, a *Assembly) error {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return refused("directory %s is not empty: name another one", dir)
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return outputError(err)
	}
	part := filepath.Clean(dir) + ".part"
	if err := beginPart(part); err != nil {
		return err
	}
	files, err := openJobFiles(part)
	if err != nil {
		return outputError(err)
	}
	err = (&assembler{Assembly: a, files: files, path: part, written: map[string]extent{}}).make()
	if err = errors.Join(err, files.close()); err != nil {
		return errors.Join(err, os.RemoveAll(part))
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return outputError(err)
	}
	return outputError(os.Rename(part, dir))
}

// beginPart makes the directory, replacing one that a killed process has left.
func beginPart(part string) error {
	mark := filepath.Join(part, collectMark)
	if _, err := os.Lstat(part); err == nil {
		if _, err := os.Lstat(mark); err != nil {
			return refused("%s is in the way: move it elsewhere", part)
		}
		if err := os.RemoveAll(part); err != nil {
			return outputError(err)
		}
	}
	if err := os.MkdirAll(part, 0o755); err != nil {
		return outputError(err)
	}
	return outputError(os.WriteFile(mark, nil, 0o644))
}

// assembler assembles one job directory.
type assembler struct {
	*Assembly
	files jobFiles
	path  string

	mu      sync.Mutex
	written map[string]extent // lengths and hashes computed while the files were written, by name
}

func (a *assembler) make() error {
	copied := newCrew()
	for _, step := range []func() error{a.ledger, a.visits, a.robots, a.archives} {
		if !copied.do(step) {
			break
		}
	}
	for _, step := range []func() error{copied.wait, a.settings, a.summary, a.manifest} {
		if err := step(); err != nil {
			return outputError(err)
		}
	}
	return outputError(errors.Join(os.Remove(filepath.Join(a.path, collectMark)), a.files.sync()))
}

// committed returns the committed part of the named file for each segment that has it, as verified against its commits.
func (a *assembler) committed(name string) (list []lineFile) {
	for i := range a.Sources {
		s := &a.Sources[i]
		if e, ok := s.files[name]; ok && e.Bytes > 0 {
			list = append(list, s.lineFile(name, e.Bytes))
		}
	}
	return list
}

// lines merges a file of lines from those of all segments, by the times that at returns for the
// lines. If change is not nil, it is called for each line and returns the line to write instead.
func (a *assembler) lines(name string, list []lineFile, at func([]byte) (time.Time, error), change func(line []byte) ([]byte, error)) error {
	f, err := a.files.edit(name, os.O_TRUNC)
	if err != nil {
		return err
	}
	h, size := sha256.New(), int64(0)
	w := bufio.NewWriterSize(io.MultiWriter(f, h), 1<<20)
	m := merger{at: at, dir: a.path}
	err = m.merge(list, func(line []byte) error {
		if change != nil {
			var err error
			if line, err = change(line); err != nil {
				return err
			}
		}
		size += int64(len(line))
		_, err := w.Write(line)
		return err
	})
	err = firstOf(err, w.Flush())
	err = firstOf(err, f.Sync())
	a.mu.Lock()
	defer a.mu.Unlock()
	a.written[name] = extent{Bytes: size, SHA256: hexSum(h)}
	return errors.Join(err, f.Close())
}

func (a *assembler) visits() error {
	list, parse := a.committed(VisitsName), parseShort()
	var v sink.Record
	err := a.lines(VisitsName, list, func(line []byte) (time.Time, error) {
		err := parse(line, &v)
		return v.Ended, err
	}, nil)
	for i := range a.Sources { // the fetched copies are merged: free their disk space
		if s := &a.Sources[i]; s.fetched {
			err = errors.Join(err, os.RemoveAll(filepath.Join(s.dir(), VisitsName)))
		}
	}
	return err
}

// ledger merges the ledgers in full: lines written after the last commit also record requests that were made.
func (a *assembler) ledger() (err error) {
	list, err := a.whole(LedgerName)
	if err != nil {
		return err
	}
	chain := ledger.Begin()
	var buf []byte
	return a.lines(LedgerName, list, ledgerTimes(), func(line []byte) (_ []byte, err error) {
		buf, chain, err = chain.Move(buf[:0], line)
		return buf, err
	})
}

// whole returns the named file for each segment that has it, even if no byte of it was committed.
func (a *assembler) whole(name string) (list []lineFile, err error) {
	for i := range a.Sources {
		x := a.Sources[i].lineFile(name, 0)
		x.bytes, err = wholeSize(x.path)
		switch {
		case missingFile(err):
		case err != nil:
			return nil, err
		case x.bytes > 0:
			list = append(list, x)
		}
	}
	return list, nil
}

// wholeSize returns the size of a file of lines without an incomplete last line.
func wholeSize(path string) (size int64, err error) {
	f, err := safefile.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }() // only read, so an error of closing loses nothing
	if size, err = f.Seek(0, io.SeekEnd); err != nil {
		return 0, err
	}
	var b [1]byte
	for ; size > 0; size-- { // byte by byte, because an incomplete last line is short
		if _, err := f.ReadAt(b[:], size-1); err != nil {
			return 0, err
		}
		if b[0] == '\n' {
			break
		}
	}
	return size, nil
}

// ledgerTimes returns a function that returns when a line was written.
func ledgerTimes() func(line []byte) (time.Time, error) {
	parse := parseLedger()
	var e ledger.Entry
	return func(line []byte) (time.Time, error) {
		if err := parse(line, &e); err != nil {
			return time.Time{}, err
		}
		at := e.Written
		for _, t := range []time.Time{e.Ended, e.Reported, e.Allowed} {
			if t.After(at) {
				at = t
			}
		}
		return at, nil
	}
}

// robots merges the robots.txt files.
func (a *assembler) robots() error {
	name := path.Join(robotsName, indexName)
	list, err := a.whole(name)
	if err != nil {
		return err
	}
	dir, err := a.files.sub(robotsName)
	if err != nil {
		return err
	}
	err = a.lines(name, list, func(line []byte) (time.Time, error) {
		var r RobotsAnswer
		if err := json.Unmarshal(line, &r); err != nil {
			return time.Time{}, err
		}
		return time.Parse(time.RFC3339Nano, r.Fetched)
	}, nil)
	for i := range list {
		err = firstOf(err, copyBodies(dir, filepath.Dir(list[i].path), max(safefile.Settings, int64(a.Config.Crawl.Fetch.MaxRobots))))
	}
	return errors.Join(err, dir.close())
}

// copyBodies copies the bodies of robots.txt files, each up to most bytes.
func copyBodies(to plainDir, from string, most int64) error {
	d, err := openDir(from)
	if err != nil {
		return err
	}
	defer func() { _ = d.close() }() // only read, so an error of closing loses nothing
	names, err := d.names(".")
	if err != nil {
		return err
	}
	for _, name := range names {
		if !isRobotsBody(name) {
			continue
		}
		b, err := d.readUpTo(name, most)
		if err == nil {
			err = to.writeOnce(name, b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// archives copies the archives unchanged, each up to its last committed byte.
func (a *assembler) archives() error {
	all := newCrew()
	for i := range a.Sources {
		s := &a.Sources[i]
		for _, name := range s.archives() {
			all.do(func() error { return firstOf(a.copy(s, name), a.copy(s, indexOf(name))) })
		}
	}
	if err := all.wait(); err != nil {
		return err
	}
	for i := range a.Sources {
		if err := a.cut(&a.Sources[i]); err != nil {
			return err
		}
	}
	return nil
}

// archives returns the names of the archives of a segment, in order.
func (s *Segment) archives() []string {
	return slices.DeleteFunc(sortedKeys(s.files), func(name string) bool { return !strings.HasPrefix(name, archiveName+"/") })
}

// cut removes data that was written to the last archive after the last commit.
func (a *assembler) cut(s *Source) error {
	names := s.archives()
	if len(names) == 0 {
		return nil
	}
	last := names[len(names)-1]
	serial, err := serialOf(last)
	if err != nil {
		return err
	}
	w, err := warc.Open(filepath.Join(a.path, archiveName), warc.Options{Prefix: archivePrefix(s.Shard, s.Epoch)})
	if err != nil {
		return err
	}
	return errors.Join(w.Restore(context.Background(), serial<<40|s.files[last].Bytes), w.Close(context.Background())) // an offset as package warc describes it
}

// archivePrefix returns the beginning of the names of a segment's archives.
func archivePrefix(shard int, epoch uint64) string { return fmt.Sprintf("amble-%d-%d", shard, epoch) }

// indexOf returns the name of an archive's index.
func indexOf(archive string) string {
	name, _, _ := strings.Cut(archive, ".warc.")
	return name + ".cdxj"
}

// serialOf returns the serial number in an archive's name.
func serialOf(archive string) (int64, error) {
	name, _, _ := strings.Cut(archive, ".warc.")
	return strconv.ParseInt(name[strings.LastIndexByte(name, '-')+1:], 10, 64)
}

// copy copies a whole file of a segment, or moves it.
func (a *assembler) copy(s *Source, name string) error {
	if err := os.MkdirAll(filepath.Join(a.path, path.Dir(name)), 0o755); err != nil {
		return err
	}
	if s.fetched { // a fetched copy was synced when it was made
		return os.Rename(filepath.Join(s.dir(), filepath.FromSlash(name)), filepath.Join(a.path, filepath.FromSlash(name)))
	}
	d, err := openDir(s.dir())
	if err != nil {
		return err
	}
	in, err := d.open(name)
	if err != nil {
		return errors.Join(err, d.close())
	}
	out, err := a.files.edit(name, os.O_TRUNC)
	if err == nil {
		_, err = io.Copy(out, in)
		err = firstOf(err, out.Sync())
		err = errors.Join(err, out.Close())
	}
	return errors.Join(err, in.Close(), d.close())
}

// settings writes the job file and the settings that the ledger is checked against.
func (a *assembler) settings() error {
	text, err := a.Config.File(a.Seeds)
	if err != nil {
		return err
	}
	if err := a.files.replace(jobName, text); err != nil {
		return err
	}
	c, err := a.Config.Audit()
	if err != nil {
		return &Error{Kind: Refused, Err: err}
	}
	if c.Processes, err = a.processes(); err != nil {
		return err
	}
	a.ordered(&c)
	return writeAudit(a.files.plainDir, &c)
}

// ordered adds the orders to the settings. Shards apply an order at different times: the check expects
// a longer delay from when all shards have applied it, and accepts a retry from when the first one has.
func (a *assembler) ordered(c *audit.Config) {
	for i := range a.Orders {
		o := a.Orders[i]
		first, last, ok := a.inForce(i + 1)
		switch {
		case !ok:
		case o.Key == ActionSlower:
			o.At = last.Add(a.MaxSkew)
			c.HostDelays = slices.Concat(o.hostDelays(), c.HostDelays)
		case o.Key == ActionRetry:
			c.Forgiven = append(c.Forgiven, first.Add(-a.MaxSkew))
		}
	}
}

// inForce returns when the first and the last shard applied an order; ok is false if no segment shows the order. A shard whose last
// segment does not show the order may have applied it after its last commit, within a minute.
func (a *assembler) inForce(order int) (first, last time.Time, ok bool) {
	shards := map[int]time.Time{}
	for i := range a.Sources {
		s := &a.Sources[i]
		at, has := s.has(order)
		if was, known := shards[s.Shard]; has && (!known || at.Before(was)) {
			shards[s.Shard] = at
		}
		if late := s.Stored.Add(time.Minute - s.ahead()); !has && a.after(s) == nil && late.After(last) {
			last = late
		}
	}
	for _, at := range shards {
		if first.IsZero() || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	return first, last, len(shards) > 0
}

// processes returns the clocks of the processes that wrote the segments, as far as they are known, and when each process lost its
// shard to the next one.
func (a *assembler) processes() (all []audit.Process, err error) {
	for i := range a.Sources {
		s := &a.Sources[i]
		run, err := runOf(filepath.Join(s.dir(), LedgerName))
		if err != nil {
			return nil, err
		}
		if run == "" {
			continue // the process of this source made no requests
		}
		p := audit.Process{Run: run, Name: fmt.Sprintf("node %s, shard %d, epoch %d", s.Node, s.Shard, s.Epoch), Ahead: s.ahead().Seconds(), Error: a.MaxSkew.Seconds()}
		if s.Clock != nil {
			p.Error = (s.Clock.Most - s.Clock.Least) / 2
		}
		if next := a.after(s); next != nil {
			p.Until = next.Begun.Add(-next.ahead())
			if !s.Stored.IsZero() {
				p.Stored = s.Stored.Add(-s.ahead())
			}
		}
		all = append(all, p)
	}
	return all, nil
}

// after returns the next segment of the same shard, nil if there is none.
func (a *assembler) after(s *Source) (next *Source) {
	for i := range a.Sources {
		o := &a.Sources[i]
		if o.Shard == s.Shard && o.Epoch > s.Epoch && (next == nil || o.Epoch < next.Epoch) {
			next = o
		}
	}
	return next
}

// runOf returns the run that the first line of a ledger names. It is "" if the ledger is empty or missing.
func runOf(path string) (run string, err error) {
	f, err := safefile.Open(path)
	if missingFile(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // only read, so an error of closing loses nothing
	line, err := jsonl.ReadLine(bufio.NewReader(f), nil)
	if errors.Is(err, io.EOF) {
		return "", nil
	}
	var e struct {
		Run string `json:"run"`
	}
	return e.Run, firstOf(err, json.Unmarshal(line, &e))
}

// summary writes the report and the manifest. The report is of a single run; the runs in the manifest are owners of shards.
func (a *assembler) summary() error {
	facts, err := (&Reader{dir: a.path, files: a.files}).Facts()
	if err != nil {
		return err
	}
	rep := &a.Report
	rep.Hosts = len(facts.Hosts) + facts.MoreHosts
	rep.Runs = 1
	if rep.Ended = facts.Last; rep.Ended.IsZero() { // no request, so there is no last line
		rep.Ended = time.Now().UTC()
	}
	rep.Elapsed = crawler.Duration{Duration: max(0, rep.Ended.Sub(rep.Started))}
	return a.files.replace(reportName, append(reportJSON(rep, facts, "", nil), '\n'))
}

// manifest writes the manifest, with a run for each segment.
func (a *assembler) manifest() error {
	m := &Manifest{Schema: manifestSchema, Collected: a.Of, Finish: a.Report.Finish, Settings: a.Config.recordable().recorded(), Created: a.Report.Started}
	for _, u := range a.Seeds {
		m.Seeds = append(m.Seeds, u.String())
	}
	for i := range a.Sources {
		r := a.Sources[i].run()
		if r.Ended = a.Report.Ended; a.after(&a.Sources[i]) != nil {
			r.Ended = a.after(&a.Sources[i]).Begun
		}
		m.Runs = append(m.Runs, r)
	}
	slices.SortStableFunc(m.Runs, func(x, y Run) int { return x.Started.Compare(y.Started) })
	if len(m.Runs) == 0 {
		m.Runs = []Run{newRun(time.Now())}
	}
	for _, c := range a.Orders { // each order belongs to the last run that started before it
		n := 0
		for i := range m.Runs {
			if !m.Runs[i].Started.After(c.At) {
				n = i
			}
		}
		m.Runs[n].Changes = append(m.Runs[n].Changes, c)
	}
	last := m.Last()
	last.Ended, last.Finish, last.Pages, last.Requests, last.Left = a.Report.Ended, a.Report.Finish, a.Report.Pages, a.Report.Requests, a.Report.Left
	var err error
	if m.Outputs, err = fileFacts(a.files, a.written); err != nil {
		return err
	}
	return m.write(a.files.plainDir)
}
