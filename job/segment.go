package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// Segment describes the files that one process has written for a job that many share: for one shard, from taking it over until losing
// it. Each segment has its own directory. The shard's queue stores with each commit how much of the files counts, so that they are
// never cut: data written after the last commit does not count.
type Segment struct {
	Node  string    `json:"node"`  // name of the process's node
	Shard int       `json:"shard"` // starts at 0
	Epoch uint64    `json:"epoch"` // epoch of the shard's ownership, starts at 1
	Begun time.Time `json:"begun"` // time by the node's clock

	Process Run `json:"process"`
	Visits  int `json:"visits"` // committed visits
	// Clock is the node's clock offset from the engine's clock. nil: it was never measured.
	Clock *ClockOffset `json:"clock,omitempty"`
	// Stored is the time at which the state of the hosts was last stored, by the node's clock. A later
	// owner of the shard does not know of any later response. Zero: an earlier version did not record it.
	Stored time.Time `json:"stored,omitzero"`

	// Obeyed records when orders to the job took effect in the crawl. Its first entry covers the orders before the crawl began.
	Obeyed []Obeyed `json:"obeyed,omitempty"`

	files map[string]extent // extents by name in the segment's directory, as committed
}

// Obeyed is the time, by its machine's clock, from which a crawl applied all orders to its job up to a number.
type Obeyed struct {
	Order int       `json:"order"`
	At    time.Time `json:"at"`
}

// keySegment is the prefix of the keys under which a shard's queue stores its segments; the epoch follows.
const keySegment = "job/segment/"

// epochName formats an epoch for use in names, so that names sort in order.
func epochName(epoch uint64) string { return fmt.Sprintf("%08d", epoch) }

// Dir returns the directory of the segment, relative to the node's: SHARD/EPOCH.
func (s *Segment) Dir() string {
	return filepath.Join(strconv.Itoa(s.Shard), strconv.FormatUint(s.Epoch, 10))
}

// SegmentWriter is the open files of a segment.
type SegmentWriter struct {
	// Clock is called before each commit. It returns this machine's clock offset from the engine's clock, its maximum error,
	// and the time of the last measurement (zero: never). nil: nothing is measured.
	Clock func() (at time.Time, ahead, wrong time.Duration)
	// Stored is called with each commit. It returns a time up to which the commit includes everything learnt from responses: see
	// politeness.Gate.LastChanges. nil: it is not recorded.
	Stored func() time.Time

	mu      sync.Mutex // guards segment.Obeyed
	segment Segment
	out     *outputs
	files   jobFiles
	visits  *countingSink
	clockAt time.Time // time of the last measurement
	vague   bool      // the segment's Clock comes from an inaccurate measurement
}

// Shared returns the configuration for package crawler of a job that many processes share. It returns an error for settings that such a
// job does not allow.
func (c *Config) Shared(seeds []weburl.URL) (crawler.Config, error) {
	if err := c.checkShared(); err != nil {
		return crawler.Config{}, err
	}
	cfg, err := c.forJob("", seeds)
	if err == nil {
		err = checkContact(&cfg, seeds)
	}
	return cfg, err
}

// OpenSegment creates a segment in a new directory, and adds its files to cfg: the sinks, the ledger, the robots.txt files and the
// values stored with each commit. The caller sets cfg.Frontier.
func (c *Config) OpenSegment(dir string, s Segment, cfg *crawler.Config) (*SegmentWriter, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, outputError(err)
	}
	files, err := openJobFiles(dir)
	if err != nil {
		return nil, outputError(err)
	}
	s.Process = newRun(time.Now())
	s.Begun, s.Process.Browser = s.Process.Started, c.Browser.Name
	w := &SegmentWriter{segment: s, files: files}
	w.out = &outputs{
		commits:       &commits{files: files, extents: map[string]extent{}, prefix: epochName(s.Epoch) + "/"},
		archivePrefix: archivePrefix(s.Shard, s.Epoch),
	}
	j := &Job{dir: dir, files: files, config: *c}
	if err := w.out.openFiles(j, cfg); err != nil {
		return nil, errors.Join(outputError(err), w.Close())
	}
	w.attach(cfg)
	return w, nil
}

// attach makes the open files part of a crawl.
func (w *SegmentWriter) attach(cfg *crawler.Config) {
	o := w.out
	w.visits = &countingSink{JSONL: o.visits}
	var sinks []sink.Sink
	if o.archive != nil { // the archive comes first, so that visits can refer to their position in the archive
		sinks = append(sinks, o.archive)
	}
	cfg.Sinks = slices.Concat(sinks, []sink.Sink{w.visits}, cfg.Sinks)
	cfg.Politeness.Ledger, cfg.KeepRobots, cfg.AtCommit = o.ledger, o.robots.keep, w.values
}

// countingSink counts the records.
type countingSink struct {
	*sink.JSONL
	n int
}

// Append implements sink.Sink.
func (s *countingSink) Append(ctx context.Context, r *sink.Record) error {
	err := s.JSONL.Append(ctx, r)
	if err == nil {
		s.n++
	}
	return err
}

// values implements crawler.Config.AtCommit.
func (w *SegmentWriter) values() (map[string][]byte, error) {
	values, err := w.out.commits.values()
	if err != nil {
		return nil, err
	}
	s := &w.segment
	s.Visits = w.visits.n
	w.readClock()
	if w.Stored != nil {
		if s.Stored = w.Stored(); s.Stored.IsZero() { // the state of the hosts was never stored, so it covers no response
			s.Stored = s.Begun
		}
	}
	w.mu.Lock()
	b, err := json.Marshal(s)
	w.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("job: %w", err)
	}
	values[keySegment+epochName(s.Epoch)] = b
	return values, nil
}

// Obeyed records that the crawl applies all orders to its job up to this number. It may be called concurrently.
func (w *SegmentWriter) Obeyed(order int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	s := &w.segment
	if last := len(s.Obeyed) - 1; last >= 0 && now.Sub(s.Obeyed[last].At) < time.Second { // merge orders in quick succession, such as a list
		s.Obeyed[last] = Obeyed{order, now}
		return
	}
	s.Obeyed = append(s.Obeyed, Obeyed{order, now})
}

// has returns when the crawl began to obey an order, and whether it did.
func (s *Segment) has(order int) (at time.Time, ok bool) {
	for _, x := range s.Obeyed {
		if x.Order >= order {
			return x.At.Add(-s.ahead()), true
		}
	}
	return at, false
}

// ClockOffset bounds the offset between two clocks, in seconds: all measurements lie between Least and Most.
type ClockOffset struct {
	Least float64 `json:"least_s"`
	Most  float64 `json:"most_s"`
}

// maxVague is the maximum error of a measurement, unless there is no better one.
const maxVague = 100 * time.Millisecond

func (w *SegmentWriter) readClock() {
	if w.Clock == nil {
		return
	}
	at, ahead, wrong := w.Clock()
	if at.IsZero() || at.Equal(w.clockAt) {
		return
	}
	w.clockAt = at
	now := ClockOffset{(ahead - wrong).Seconds(), (ahead + wrong).Seconds()}
	vague := wrong > maxVague
	switch was := w.segment.Clock; {
	case was == nil, w.vague && !vague:
		w.segment.Clock, w.vague = &now, vague
	case w.vague == vague:
		was.Least, was.Most = min(was.Least, now.Least), max(was.Most, now.Most)
	}
}

// ahead returns the estimated offset of the node's clock from the engine's: the middle of the known range.
func (s *Segment) ahead() time.Duration {
	if s.Clock == nil {
		return 0
	}
	return time.Duration((s.Clock.Least + s.Clock.Most) / 2 * float64(time.Second))
}

// Close closes the files.
func (w *SegmentWriter) Close() error {
	return outputError(errors.Join(w.out.close(), w.files.close()))
}

// ReadSegments returns the segments of a shard from its queue, by epoch. values calls a function with those values of the queue whose
// names begin with a prefix, for example of a Copy of package disk without an owner.
func ReadSegments(values func(prefix string, f func(name string, value []byte) error) error) ([]Segment, error) {
	all := map[string]*Segment{}
	of := func(epoch string) *Segment {
		if all[epoch] == nil {
			all[epoch] = &Segment{files: map[string]extent{}}
		}
		return all[epoch]
	}
	err := values(keyJob, func(name string, value []byte) error {
		if epoch, ok := strings.CutPrefix(name, keySegment); ok {
			return json.Unmarshal(value, of(epoch))
		}
		rest, ok := strings.CutPrefix(name, keyExtent)
		epoch, file, whole := strings.Cut(rest, "/")
		if !ok || !whole {
			return nil
		}
		var e extent
		err := json.Unmarshal(value, &e)
		of(epoch).files[file] = e
		return err
	})
	if err != nil {
		return nil, readError(err)
	}
	var list []Segment
	for _, epoch := range sortedKeys(all) {
		list = append(list, *all[epoch])
	}
	return list, nil
}

// damage returns an error if the node's directory lacks committed data of the segment. shown is the name of the directory in messages.
func (s *Segment) damage(node, shown string) error {
	d, err := openJobFiles(filepath.Join(node, s.Dir()))
	if err != nil {
		return err
	}
	defer func() { _ = d.close() }() // only read, so an error of closing loses nothing
	for _, name := range sortedKeys(s.files) {
		e := s.files[name]
		if err := d.checkFile(path.Clean(name), []known{{e.Bytes, e.SHA256}}); err != nil {
			return fmt.Errorf("%s/%s/%s: %w", shown, filepath.ToSlash(s.Dir()), name, err)
		}
	}
	return nil
}

// run returns the segment as a run of the assembled job.
func (s *Segment) run() Run {
	r := s.Process
	r.Pages = s.Visits
	return r
}

// checkShared refuses settings that are not possible on several machines.
func (c *Config) checkShared() error {
	var errs []error
	bad := func(is bool, key, why string) {
		if is {
			errs = append(errs, &KeyError{Key: key, Err: errors.New("not possible in a cluster job: " + why)})
		}
	}
	bad(c.Crawl.Fetch.Cookies || c.LoadCookies != "" || c.KeepCookies, "cookies", "a session belongs to one process, and hosts that share cookies may be crawled by several")
	bad(c.Browser.Path != "", "browser", "each node has its own: name it there")
	bad(c.Browser.Isolation != "" && c.Browser.Isolation != "namespace", "render-isolation", "each node says how its browser is kept from the network")
	bad(c.Crawl.Follow.Documents, "documents", "its nodes have no program that reads them")
	bad(c.Store != "", "store", "what nodes have is merged when it is collected; store the collected job")
	bad(c.Text, "text", "its nodes have no program that reads it; export the texts of the collected job")
	bad(c.Crawl.Sample.N > 0, "sample", "no node knows when all lists are read")
	bad(c.Cache != "", "cache", "it is a directory of one machine")
	bad(c.Sign != "", "sign", "the key would have to be on every node")
	bad(c.Crawl.Fetch.LocalAddr.IsValid(), "source-address", "it is an address of one machine")
	for _, h := range c.Header {
		bad(!slices.Equal(keptFields([]string{h}), []string{h}), keyHeader, "its value would be stored in the engine: name a file or a variable of every node, as in 'Name: @FILE' or 'Name: env:NAME'")
	}
	if p := c.Crawl.Fetch.Proxy; p != nil && p.User != nil {
		bad(true, "proxy", "its password would be stored in the engine")
	}
	if len(errs) == 0 {
		return nil
	}
	return &Error{Kind: Refused, Err: errors.Join(errs...)}
}

// ParseFile is like ReadFile, for text from an untrusted source: it reads no other file, and returns an error if a robots override
// names one. The name is used in messages.
func ParseFile(name string, b []byte) (*File, error) {
	return (&File{path: name, alone: true, entries: map[string]entry{}}).parsed(b)
}

// File returns the settings, with these seeds and without secrets, as the text of a job file. Paths in it are absolute.
func (c *Config) File(seeds []weburl.URL) ([]byte, error) {
	if err := c.absolute(); err != nil {
		return nil, err
	}
	urls := Setting{Name: KeyURLs, Origin: "seeds"}
	for _, u := range seeds {
		urls.Values = append(urls.Values, u.String())
	}
	return []byte(c.recordable().YAML(urls)), nil
}
