package job

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/sink/warc"
)

// Names of the values that each commit of visits stores in the queue: the lengths of the job's files.
const (
	keyJob    = "job/"
	keyExtent = "job/extent/" // + file name
	keyMark   = "job/mark/"   // file name, colon and offset (16 hexadecimal digits) follow; the value is the SHA-256 up to there
)

// commits stores the lengths of the job's files in the queue with each commit, and compares the files with them when the
// job is resumed.
type commits struct {
	files   jobFiles
	prefix  string            // prefix of the files' names in the queue; "" in a job of one process
	extents map[string]extent // keyed by name, as stored in the queue
	began   bool              // the job was created by a version that stored no lengths
	kept    []*segmented
	size    int64         // size at which a segment is closed; 0: no limit
	age     time.Duration // age at which a segment is closed even if it is small; 0: no limit
	archive *warc.Writer  // nil: no archive
}

// openCommits reads what the last commit stored in the queue and compares the archives with it. Other files
// are compared when they are opened.
func (j *Job) openCommits(store *disk.Store) (*commits, error) {
	c := &commits{files: j.files, extents: map[string]extent{}, size: j.config.segmentSize()}
	if j.uploads != nil && c.size > 0 {
		c.age = segmentAge
	}
	if err := store.Values(context.Background(), "", keyExtent, c.read); err != nil {
		return nil, err
	}
	begun := len(store.Offsets("")) > 0
	c.began = begun && len(c.extents) == 0
	if !begun {
		return c, c.files.checkEmpty("nothing was ever committed in it")
	}
	return c, c.checkArchives()
}

// checkFrontier returns an error if a job has visits or requests but no queue. A new queue would remove them as data of another crawl.
func (d jobFiles) checkFrontier() error {
	if there, err := d.has(frontierName); there || err != nil {
		return err
	}
	return d.checkEmpty("it is missing")
}

// checkEmpty returns an error if a file is not empty although no commit was made.
func (d jobFiles) checkEmpty(why string) error {
	for _, name := range []string{VisitsName, LedgerName, LinksName, TextName, ItemsName, ItemsCSVName} { // items.db is never empty
		info, err := d.root.Lstat(name)
		if err == nil && info.Size() > 0 {
			return d.told(frontierName, &damage{why + ", and " + name + " is not empty"})
		}
	}
	return nil
}

func (c *commits) read(name string, value []byte) error {
	var e extent
	if err := json.Unmarshal(value, &e); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	c.extents[strings.TrimPrefix(name, keyExtent)] = e
	return nil
}

// checkArchives compares the archives with the last commit: all by size, the end of the last one also by hash. Verify reads all of them.
func (c *commits) checkArchives() error {
	last := ""
	for name, e := range c.extents {
		if !strings.HasPrefix(name, archiveName+"/") {
			continue
		}
		last = max(last, name)
		size, err := c.files.size(name)
		switch {
		case missingFile(err):
			return c.files.told(name, gone(e.Bytes))
		case err != nil:
			return err
		case size < e.Bytes:
			return c.files.told(name, short(size, e.Bytes))
		}
	}
	if last == "" {
		return nil
	}
	f, err := c.files.open(last)
	if err != nil {
		return err
	}
	e := c.extents[last]
	_, err = e.check(f, e.Bytes)
	return errors.Join(c.files.told(last, err), f.Close())
}

// of returns the extent of a file at the last commit, or nil if it was not committed.
func (c *commits) of(name string) *extent {
	e, ok := c.extents[name]
	if !ok {
		return nil
	}
	return &e
}

// bytes returns the size of all files together, at the last commit.
func (c *commits) bytes() (n int64) {
	for _, e := range c.extents {
		n += e.Bytes
	}
	return n
}

// keep opens a file whose extent each commit stores.
func (c *commits) keep(name string) (*segmented, error) {
	size := c.size
	if !slices.Contains(inSegments, name) {
		size = 0
	}
	s, err := c.openSegmented(name, size)
	if err == nil {
		c.kept = append(c.kept, s)
	}
	return s, err
}

// keepLines is keep for a file of lines. An incomplete last line, left by a killed process, is removed.
func (c *commits) keepLines(name string) (*ledger.File, int64, error) {
	e, err := c.keep(name)
	if err != nil {
		return nil, 0, err
	}
	l, size, err := ledger.NewFile(e)
	if err != nil {
		return nil, 0, errors.Join(err, e.Close())
	}
	return l, size, nil
}

// values syncs the files and returns the values that the commit stores about them.
func (c *commits) values() (map[string][]byte, error) {
	values := map[string][]byte{}
	for _, f := range c.kept {
		if err := f.tell(values); err != nil {
			return nil, err
		}
	}
	if c.archive != nil {
		for _, e := range c.archive.Extents() {
			name := path.Join(archiveName, e.File)
			now, marked := c.extents[name].grown(e.Bytes, hex.EncodeToString(e.SHA256[:]), e.State)
			c.tell(values, name, now, marked)
		}
	}
	return values, nil
}

func (c *commits) tell(values map[string][]byte, name string, now extent, marked bool) {
	c.extents[name] = now
	values[keyExtent+c.prefix+name] = now.encode()
	if marked {
		sum, _ := hex.DecodeString(now.SHA256) // decoding cannot fail, because now.SHA256 was encoded above
		values[fmt.Sprintf("%s%s%s:%016x", keyMark, c.prefix, name, now.Bytes)] = sum
	}
}
