package job

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/stores"
)

// Names of the objects from which another machine can resume a job.
const (
	queueName  = "queue.json" // the list of files at one commit
	queueParts = "queue"      // contents of the listed files: queue/PLACE/SHA256
	leaseName  = "lease.json" // names the process that crawls the job

	queueSchema = "amble.queue/1"
	queueCopy   = ".queue" // directory in the job for copies of the queue
)

const (
	partSize  = 8 << 20  // size in bytes of all parts of a file except the last
	maxPart   = 32 << 20 // maximum bytes of a part
	maxQueue  = 64 << 20 // maximum bytes of the list
	queueRest = time.Minute
)

// queued is the content of queue.json: what is needed to resume a job from a commit, besides the objects listed in stored.json.
type queued struct {
	Schema string       `json:"schema"`
	Job    string       `json:"job"` // ID of the job, as in stored.json
	Place  string       `json:"place"`
	At     time.Time    `json:"at"`
	Files  []queuedFile `json:"files"`
	Robots []string     `json:"robots,omitempty"` // SHA-256 of parts; each is a tar file with bodies of robots.txt files
}

// queuedFile is a file in parts. Most parts of a growing file stay the same, so that the store has them already.
type queuedFile struct {
	Name  string   `json:"name"`
	Bytes int64    `json:"bytes"`
	Parts []string `json:"parts,omitempty"` // SHA-256
}

// parseQueued parses the list of queue.json. It may come from an untrusted source.
func parseQueued(b []byte) (*queued, error) {
	q := &queued{}
	if err := json.Unmarshal(b, q); err != nil {
		return nil, err
	}
	if q.Schema != queueSchema {
		return nil, fmt.Errorf("it is of the form %q, this program knows %s", q.Schema, queueSchema)
	}
	if stores.CheckName(q.Place) != nil || strings.Contains(q.Place, "/") {
		return nil, errors.New("it does not say where its parts are")
	}
	names := map[string]bool{}
	for i, f := range q.Files {
		if !isQueued(f.Name) || names[f.Name] || f.Bytes < 0 || f.Bytes > int64(len(f.Parts))*maxPart || slices.ContainsFunc(f.Parts, notSHA256) {
			return nil, fmt.Errorf("file %d is not one that a job needs", i)
		}
		names[f.Name] = true
	}
	if slices.ContainsFunc(q.Robots, notSHA256) {
		return nil, errors.New("it has a part without a hash")
	}
	for _, name := range []string{manifestName, jobName} {
		if !names[name] {
			return nil, fmt.Errorf("%s is missing", name)
		}
	}
	return q, nil
}

func notSHA256(s string) bool { return !isSHA256(s) }

// isQueued reports whether a file may be in the list.
func isQueued(name string) bool {
	whole, _ := segmentOf(name)
	switch whole {
	case VisitsName, LedgerName, LinksName, TextName, ItemsName, ItemsCSVName, ItemsTableName, manifestName, jobName, auditName:
		return true
	}
	dir, base := path.Split(name)
	switch strings.TrimSuffix(dir, "/") {
	case frontierName:
		return stores.CheckName(name) == nil && base != "LOCK"
	case robotsName:
		return base == indexName
	case settingsName, archiveName:
		return stores.CheckName(name) == nil && ownDirs[path.Dir(name)](base)
	}
	return false
}

// part returns the name of the object of a part.
func (q *queued) part(sum string) string { return path.Join(queueParts, q.Place, sum) }

// bytes returns the size of the files.
func (q *queued) bytes() (n int64) {
	for _, f := range q.Files {
		n += f.Bytes
	}
	return n
}

// storeQueue stores the present queue, and the lengths of the job's files at its last commit. It does nothing before the first commit.
// The crawl continues meanwhile.
func (u *uploads) storeQueue(ctx context.Context) error {
	u.busy.Lock()
	defer u.busy.Unlock()
	began := time.Now()
	small, err := u.describing()
	if err == nil {
		err = u.put(ctx, small, nil)
	}
	if err != nil {
		return err
	}
	if there, err := u.j.files.has(ItemsTableName); err != nil || there && !u.j.ended { // a database is not stored while it may change
		u.rest(began)
		return err
	}
	q := &queued{Schema: queueSchema, Job: u.list.Job, Place: u.list.Place, At: time.Now().UTC()}
	if err := u.knowParts(ctx, q); err != nil {
		return err
	}
	dir, err := u.copyQueue(ctx)
	if err != nil {
		return err
	}
	if dir == queueCopy {
		defer func() { _ = u.j.files.root.RemoveAll(queueCopy) }() // if removal fails, the next copy of the queue removes the directory
	}
	extents := map[string]extent{}
	err = disk.ReadValues(u.j.files.path(dir), disk.Config{}, "", keyExtent, func(name string, value []byte) error {
		var e extent
		err := json.Unmarshal(value, &e)
		extents[strings.TrimPrefix(name, keyExtent)] = e
		return err
	})
	if err != nil || len(extents) == 0 {
		return err
	}
	entries, err := u.j.files.list(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(frontierName, e.Name())
		if !isQueued(name) || !e.Type().IsRegular() {
			continue
		}
		if err := u.putParts(ctx, q, name, path.Join(dir, e.Name()), -1, path.Ext(name) == ".sst"); err != nil {
			return err
		}
	}
	if err := u.putGrowing(ctx, q, extents); err != nil {
		return err
	}
	if err := u.putRobots(ctx, q); err != nil {
		return err
	}
	if u.j.ended {
		small = append(small, ItemsTableName)
	}
	for _, name := range small {
		if err := u.putParts(ctx, q, name, name, -1, false); err != nil && !missingFile(err) {
			return err
		}
	}
	if err := u.putQueued(ctx, q); err != nil {
		return err
	}
	u.rest(began)
	return nil
}

// rest delays the next copy of the queue, so that storing it takes at most a tenth of the time.
func (u *uploads) rest(began time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.next = time.Now().Add(max(queueRest, 9*time.Since(began)))
}

// knowParts asks the store for the parts that an earlier process left there.
func (u *uploads) knowParts(ctx context.Context, q *queued) error {
	if u.parts != nil {
		return nil
	}
	parts := map[string]bool{}
	for o, err := range u.store.List(ctx, q.part("")+"/") {
		if err != nil {
			return err
		}
		parts[path.Base(o.Name)] = true
	}
	u.parts, u.packed = parts, map[string]bool{}
	return nil
}

// copyQueue returns the name of a directory with a copy of the present queue. The queue of a crawl that has ended is not copied.
func (u *uploads) copyQueue(ctx context.Context) (string, error) {
	if u.j.ended {
		return frontierName, nil
	}
	if err := u.j.files.root.RemoveAll(queueCopy); err != nil {
		return "", outputError(u.j.files.named("remove", queueCopy, err))
	}
	if err := u.j.out.frontier.Snapshot(ctx, u.j.files.path(queueCopy)); err != nil {
		return "", errors.Join(err, u.j.files.root.RemoveAll(queueCopy))
	}
	return queueCopy, nil
}

// putGrowing adds the append-only files up to the last commit, and the ledger in full. Final files in the list of objects are left out,
// except the last segment of each, to which a resumed crawl appends.
func (u *uploads) putGrowing(ctx context.Context, q *queued, extents map[string]extent) error {
	lastArchive, last := lastOf(extents)
	ledgers, err := u.j.files.segments(LedgerName)
	if err != nil {
		return err
	}
	for n := last[LedgerName] + 1; n <= len(ledgers); n++ { // segments created after the commit
		extents[segmentName(LedgerName, n)] = extent{}
	}
	for _, name := range sortedKeys(extents) {
		e := extents[name]
		whole, n := segmentOf(name)
		archive := strings.HasPrefix(name, archiveName+"/")
		final := archive && name != lastArchive || e.Closed && n < last[whole]
		if was, ok := u.list.find(name); ok && final && was == (FileFact{e.Bytes, e.SHA256}) {
			continue
		}
		bytes := e.Bytes
		if whole == LedgerName && !e.Closed {
			bytes = -1
		}
		if err := u.putParts(ctx, q, name, name, bytes, true); err != nil {
			return err
		}
		if archive {
			if err := u.putParts(ctx, q, archiveIndex(name), archiveIndex(name), -1, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// putParts stores the first bytes of a file as parts, or the whole file if bytes is -1. Full parts of an append-only file are not read
// again.
func (u *uploads) putParts(ctx context.Context, q *queued, name, from string, bytes int64, grows bool) error {
	f, err := u.j.files.file(from, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read, so an error of closing loses nothing
	if bytes < 0 {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		bytes = info.Size()
	}
	file := queuedFile{Name: name, Bytes: bytes}
	if before, ok := u.files[name]; ok && grows {
		if before.Bytes == bytes {
			file.Parts = before.Parts
		} else if whole := min(before.Bytes, bytes) / partSize; whole > 0 {
			file.Parts = slices.Clone(before.Parts[:whole])
		}
	}
	for at := int64(len(file.Parts)) * partSize; at < bytes; at += partSize {
		b := make([]byte, min(partSize, bytes-at))
		if _, err := f.ReadAt(b, at); err != nil {
			return fmt.Errorf("%s: %w", u.j.files.path(from), err)
		}
		sum, err := u.putPart(ctx, q, b)
		if err != nil {
			return err
		}
		file.Parts = append(file.Parts, sum)
	}
	q.Files = append(q.Files, file)
	return nil
}

// putPart stores a part unless the store has it, and returns its hash.
func (u *uploads) putPart(ctx context.Context, q *queued, b []byte) (sum string, err error) {
	sum = factOfBytes(b).SHA256
	if u.parts[sum] {
		return sum, nil
	}
	if err = putBytes(ctx, u.store, q.part(sum), b); err == nil {
		u.parts[sum] = true
	}
	return sum, err
}

// putRobots adds the bodies of robots.txt files, many in a part, except those that storeRobots stored. Bodies that were added earlier
// stay in their part.
func (u *uploads) putRobots(ctx context.Context, q *queued) error {
	names, err := plainDir{root: u.j.files.root}.names(robotsName)
	if err != nil {
		return err
	}
	slices.Sort(names)
	q.Robots = slices.Clone(u.robots)
	var pack bytes.Buffer
	var packed []string
	w := tar.NewWriter(&pack)
	flush := func() error {
		if len(packed) == 0 {
			return nil
		}
		if err := w.Close(); err != nil {
			return err
		}
		sum, err := u.putPart(ctx, q, pack.Bytes())
		if err != nil {
			return err
		}
		u.robots = append(u.robots, sum)
		q.Robots = slices.Clone(u.robots)
		for _, name := range packed {
			u.packed[name] = true
		}
		pack.Reset()
		packed, w = nil, tar.NewWriter(&pack)
		return nil
	}
	for _, name := range names {
		if _, stored := u.list.find(path.Join(robotsName, name)); stored || !isRobotsBody(name) || u.packed[name] {
			continue
		}
		b, err := u.j.files.readUpTo(path.Join(robotsName, name), maxPart-partSize) // larger ones are left out and fetched again
		if err != nil {
			continue
		}
		err = w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(b))})
		if err == nil {
			_, err = w.Write(b)
		}
		if packed = append(packed, name); err == nil && pack.Len() >= partSize/2 {
			err = flush()
		}
		if err != nil {
			return err
		}
	}
	return flush()
}

// putQueued stores the list, and removes parts that only earlier lists needed.
func (u *uploads) putQueued(ctx context.Context, q *queued) error {
	b, err := json.Marshal(q)
	if err != nil {
		return err
	}
	if len(b) > maxQueue {
		return fmt.Errorf("the queue has too many files to be stored (its list has %d bytes)", len(b))
	}
	if err := u.ours(ctx); err != nil {
		return err
	}
	if err := putBytes(ctx, u.store, queueName, append(b, '\n')); err != nil {
		return err
	}
	needed := map[string]bool{}
	u.files = map[string]queuedFile{}
	for _, f := range q.Files {
		u.files[f.Name] = f
		for _, sum := range f.Parts {
			needed[q.part(sum)] = true
		}
	}
	for _, sum := range q.Robots {
		needed[q.part(sum)] = true
	}
	return u.removeParts(ctx, needed)
}

// removeParts removes parts that are no longer needed, including those of the directory in which the job was crawled before.
func (u *uploads) removeParts(ctx context.Context, needed map[string]bool) error {
	var names []string
	for o, err := range u.store.List(ctx, queueParts+"/") {
		if err != nil {
			return err
		}
		if !needed[o.Name] {
			names = append(names, o.Name)
		}
	}
	if err := u.ours(ctx); err != nil {
		return err
	}
	for _, name := range names {
		delete(u.parts, path.Base(name))
		if err := u.store.Delete(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// removeQueue removes the objects that a finished job does not need.
func (u *uploads) removeQueue(ctx context.Context) error {
	u.busy.Lock()
	defer u.busy.Unlock()
	if err := u.ours(ctx); err != nil {
		return err
	}
	if err := u.store.Delete(ctx, queueName); err != nil {
		return err
	}
	return u.removeParts(ctx, nil)
}

// describe stores the files that describe the job.
func (u *uploads) describe(ctx context.Context) error {
	u.busy.Lock()
	defer u.busy.Unlock()
	names, err := u.describing()
	if err == nil {
		err = u.put(ctx, names, nil)
	}
	return err
}

// describing returns the names of the files that describe the job. The store has them even if the job's disk is lost.
func (u *uploads) describing() (names []string, err error) {
	kept, err := plainDir{root: u.j.files.root}.names(settingsName)
	for _, name := range kept {
		if isKeptFile(name) {
			names = append(names, path.Join(settingsName, name))
		}
	}
	slices.Sort(names)
	names = append(names, auditName, jobName, manifestName)
	return slices.DeleteFunc(names, func(name string) bool {
		_, err := u.j.files.root.Lstat(name)
		return err != nil
	}), err
}

// readParts writes the content of parts to w.
func (q *queued) readParts(ctx context.Context, s stores.Store, parts []string, w io.Writer) error {
	for _, sum := range parts {
		b, err := getUpTo(ctx, s, q.part(sum), maxPart)
		switch {
		case missingFile(err):
			return &damage{q.part(sum) + " is missing"}
		case err != nil:
			return err
		case factOfBytes(b).SHA256 != sum:
			return &damage{q.part(sum) + " is not what was stored"}
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}
