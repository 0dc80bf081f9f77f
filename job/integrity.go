package job

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/amble-crawler/amble/frontier/disk"
)

// FileCheck is Verify's result for a committed file.
type FileCheck struct {
	File   string `json:"file"`
	Bytes  int64  `json:"bytes"` // bytes that were committed and read
	Damage string `json:"damage,omitempty"`
}

// known is a file's length at a commit, with the hash of that many bytes.
type known struct {
	Bytes  int64
	SHA256 string
}

// records holds the recorded lengths and hashes of the files of a job, by name.
type records struct {
	files map[string][]known
	note  string // missing records, with the reason
	queue error  // why the queue cannot be read, if it is damaged
}

// records collects the extents that commits stored in the queue and, if the last process ended normally, those in the manifest.
// It reads both without changing them.
func (d jobFiles) records(m *Manifest) *records {
	r := &records{files: map[string][]known{}}
	for name, fact := range m.Outputs {
		r.files[name] = []known{{fact.Bytes, fact.SHA256}}
	}
	for _, k := range m.Kept {
		r.files[k.name()] = []known{{k.Bytes, k.SHA256}}
	}
	list, err := d.away.now()
	if err == nil && list != nil && list.Copy { // the directory is a copy, which has no queue
		for _, o := range list.Objects {
			r.files[o.Name] = []known{{o.Bytes, o.SHA256}}
		}
		return r
	}
	err = errors.Join(err, d.committedStates(r))
	switch {
	case errors.Is(err, ErrHeld):
		r.note = "files were not compared with what was committed: " + err.Error()
	case errors.Is(err, fs.ErrNotExist) && len(r.files[VisitsName]) > 0: // there is no queue; the manifest has all records
	case errors.Is(err, fs.ErrNotExist):
		r.queue = d.told(frontierName, &damage{"it is missing"})
	case err != nil:
		r.queue = readError(err)
	case len(r.files) == len(m.Kept):
		r.note = "files were not compared with what was committed: the job was begun by a version that kept no hashes of them"
	}
	return r
}

// committedStates adds the extents that commits stored in the queue. A copy of a job may lack the lock file: then no process works on it.
func (d jobFiles) committedStates(r *records) error {
	lock, err := d.openShared(lockName)
	switch {
	case errors.Is(err, ErrHeld):
		return d.heldBy()
	case err == nil:
		defer func() { _ = d.closeLocked(lock) }() // only read, so an error of closing loses nothing
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	err = disk.ReadValues(d.path(frontierName), disk.Config{LastWrite: d.path(lastWriteName)}, "", keyJob, func(name string, value []byte) error {
		return r.add(name, value)
	})
	return d.queueError(err)
}

func (r *records) add(name string, value []byte) error {
	if mark, ok := strings.CutPrefix(name, keyMark); ok {
		i := max(0, strings.LastIndexByte(mark, ':'))
		n, err := strconv.ParseInt(strings.TrimPrefix(mark[i:], ":"), 16, 64)
		if err == nil {
			r.files[mark[:i]] = append(r.files[mark[:i]], known{n, hex.EncodeToString(value)})
		}
		return nil
	}
	file, ok := strings.CutPrefix(name, keyExtent)
	if !ok {
		return nil
	}
	var e extent
	if err := json.Unmarshal(value, &e); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	r.files[file] = append(r.files[file], known{e.Bytes, e.SHA256})
	return nil
}

// check compares each file with its records.
func (d jobFiles) check(r *records) ([]FileCheck, error) {
	list := []FileCheck{}
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		all := r.files[name]
		slices.SortFunc(all, func(a, b known) int { return cmp.Compare(a.Bytes, b.Bytes) })
		c := FileCheck{File: name, Bytes: all[len(all)-1].Bytes}
		err := d.checkFile(name, all)
		if whole, n := segmentOf(name); err == nil && len(r.files[segmentName(whole, n+1)]) > 0 {
			err = d.checkClosed(name, c.Bytes)
		}
		var dam *damage
		if errors.As(err, &dam) {
			c.Damage = dam.what
		} else if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// checkFile reads a file once and compares its hash at every recorded length.
func (d jobFiles) checkFile(name string, all []known) error {
	most := all[len(all)-1].Bytes
	f, err := d.open(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && most == 0:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return gone(most)
	case err != nil:
		return err
	}
	defer func() { _ = f.Close() }() // only read, so an error of closing loses nothing
	h, at := sha256.New(), int64(0)
	for _, k := range all {
		n, err := io.Copy(h, io.NewSectionReader(f, at, k.Bytes-at))
		switch {
		case err != nil:
			return err
		case at+n < k.Bytes:
			return short(at+n, most)
		case hexSum(h) != k.SHA256:
			return differs(at, k.Bytes)
		}
		at += n
	}
	return nil
}
