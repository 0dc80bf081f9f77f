package job

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/stores"
	"github.com/amble-crawler/amble/stores/open"
)

// Restore copies the job that a store has under a URL (see [Config.Store]) to a directory, which must be empty or missing, so that it
// can be resumed there: its queue as last stored, the files that are still written, and the list of the files that stay in the store.
// Pages crawled after the queue was stored are crawled again; the ledger keeps their requests. Once the new directory is resumed, the
// previous directory of the job is refused.
//
// The error wraps [ErrNoJob] if the store has no job there, [ErrFinished] if the job has nothing left to do, and [ErrHeld] if a process
// is working on it. The directory counts as made on another machine: see [CheckMaker].
func Restore(ctx context.Context, dir, url string) error {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return refused("directory %s is not empty: name another one", dir)
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return outputError(err)
	}
	store, err := open.URL(url)
	if err != nil {
		return &Error{Kind: Refused, Err: err}
	}
	defer func() { _ = open.Close(store) }() // only read, so an error of closing loses nothing
	list, err := readList(ctx, store, url)
	if err != nil {
		return err
	}
	q, err := readQueued(ctx, store, url, list)
	if err != nil {
		return err
	}
	held, err := readLease(ctx, store)
	if err != nil {
		return &Error{Kind: Storage, Err: err}
	}
	list.Store, list.Place, list.From = url, rand.Text(), "nobody"
	if held != nil {
		if err := held.held(url); err != nil {
			return err
		}
		list.From = held.Place
	}
	part := filepath.Clean(dir) + ".part"
	if err := beginPart(part); err != nil {
		return err
	}
	files, err := openJobFiles(part)
	if err != nil {
		return outputError(err)
	}
	err = (&restorer{files: files, store: store, url: url, list: list, queued: q}).restore(ctx)
	if err = errors.Join(err, files.close()); err != nil {
		return errors.Join(err, os.RemoveAll(part))
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return outputError(err)
	}
	return outputError(os.Rename(part, dir))
}

// readList reads the list of a job's objects in a store.
func readList(ctx context.Context, store stores.Store, url string) (*stored, error) {
	b, err := getSmall(ctx, store, storedName)
	if missingFile(err) {
		return nil, refusedAs(ErrNoJob, "%s holds no job: there is no %s; what nodes of a cluster have stored is collected first", url, storedName)
	}
	if err != nil {
		return nil, &Error{Kind: Storage, Err: err}
	}
	list, err := parseStored(b)
	if err != nil {
		return nil, damagedSettings(url+"/"+storedName, err)
	}
	return list, nil
}

// readQueued reads the list of what is needed to resume a job.
func readQueued(ctx context.Context, store stores.Store, url string, list *stored) (*queued, error) {
	b, err := getUpTo(ctx, store, queueName, maxQueue)
	switch {
	case missingFile(err):
		var m Manifest
		if b, err := getSmall(ctx, store, manifestName); err == nil && json.Unmarshal(b, &m) == nil && m.Finished() {
			return nil, refusedAs(ErrFinished, "the job in %s ended with nothing left", url)
		}
		return nil, refused("%s has no %s: the process was lost before its first commit, an earlier version stored the job, or its results are in a database; resume it in the directory where it was crawled, or begin again with another prefix", url, queueName)
	case err != nil:
		return nil, &Error{Kind: Storage, Err: err}
	}
	q, err := parseQueued(b)
	if err == nil && q.Job != list.Job {
		err = errors.New("it is of another job")
	}
	if err != nil {
		return nil, &Error{Kind: Storage, Err: fmt.Errorf("the job in %s cannot be resumed: its %s is damaged: %w", url, queueName, err)}
	}
	return q, nil
}

// restorer restores a job to one directory.
type restorer struct {
	*queued
	files jobFiles
	store stores.Store
	url   string
	list  *stored
}

func (r *restorer) restore(ctx context.Context) error {
	if err := r.room("the queue and the files that go on", r.bytes()); err != nil {
		return err
	}
	for _, f := range r.Files {
		if err := r.file(ctx, &f); err != nil {
			return r.told(err)
		}
	}
	if err := r.robots(ctx); err != nil {
		return r.told(err)
	}
	if err := r.keep(); err != nil {
		return r.told(err)
	}
	m, err := r.files.readSettings(manifestName)
	if err != nil {
		return readError(err)
	}
	var manifest Manifest
	if err := json.Unmarshal(m, &manifest); err != nil || len(manifest.Runs) == 0 {
		return r.told(&damage{manifestName + " is not that of a job"})
	}
	manifest.Maker = &Maker{} // anyone who can write to the store may have written it
	if err := manifest.write(r.files.plainDir); err != nil {
		return outputError(err)
	}
	err = errors.Join(r.files.replace(storedName, r.list.encode()), os.Remove(r.files.path(collectMark)), r.files.sync())
	return outputError(err)
}

// room refuses to restore the job if the disk has less free space than the next step may need.
func (r *restorer) room(what string, bytes int64) error {
	if free, _, err := diskOf(r.files.root.Name()); err == nil && free < bytes {
		return refusedAs(ErrSpace, "the job in %s cannot be resumed here: %s may take %s, and the disk has %s free", r.url, what, cli.Bytes(bytes), cli.Bytes(free))
	}
	return nil
}

// told returns an error about the contents of the store, in a form for users.
func (r *restorer) told(err error) error {
	var dam *damage
	if errors.As(err, &dam) {
		return &Error{Kind: Storage, Err: fmt.Errorf("the job in %s cannot be resumed: %s: put it back from a copy, or begin again with another prefix", r.url, dam.what)}
	}
	return outputError(err)
}

// file writes one file from its parts.
func (r *restorer) file(ctx context.Context, f *queuedFile) error {
	return r.files.writeIn(f.Name, func(w io.Writer) error {
		limited := &limitedWriter{w, f.Bytes}
		if err := r.readParts(ctx, r.store, f.Parts, limited); err != nil {
			return err
		}
		if limited.left != 0 {
			return &damage{"the parts of " + f.Name + " are not as long as the file"}
		}
		return nil
	})
}

// writeIn makes a file in the directory or in one below it.
func (d plainDir) writeIn(name string, content func(io.Writer) error) error {
	if sub := path.Dir(name); sub != "." {
		var err error
		if d, err = d.sub(sub); err != nil {
			return err
		}
		defer func() { _ = d.close() }() // all written data is synced
	}
	return d.replaceBy(path.Base(name), 0o644, content)
}

// limitedWriter returns an error after a number of bytes.
type limitedWriter struct {
	w    io.Writer
	left int64
}

// Write implements io.Writer.
func (l *limitedWriter) Write(b []byte) (int, error) {
	if l.left -= int64(len(b)); l.left < 0 {
		return 0, &damage{"its parts are longer than the files that are made of them"}
	}
	return l.w.Write(b)
}

// robots restores the bodies of robots.txt files.
func (r *restorer) robots(ctx context.Context) error {
	d, err := r.files.sub(robotsName)
	if err != nil {
		return err
	}
	defer func() { _ = d.close() }() // all written data is synced
	for _, sum := range r.Robots {
		if err := r.room("a part of the robots.txt files", maxPart); err != nil {
			return err
		}
		var pack bytes.Buffer
		if err := r.readParts(ctx, r.store, []string{sum}, &pack); err != nil {
			return err
		}
		for t := tar.NewReader(&pack); ; {
			h, err := t.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			var b []byte
			if err == nil {
				b, err = io.ReadAll(t) // bounded by the size of the part
			}
			if err != nil || h.Name != factOfBytes(b).SHA256+".txt" {
				return &damage{r.part(sum) + " does not hold bodies of robots.txt files"}
			}
			if err := d.writeOnce(h.Name, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// keep removes objects from the list that were stored after the queue: they are not part of the job as the queue knows it. Objects of
// the ledger stay, because their requests were made.
func (r *restorer) keep() error {
	last, lastArchive := map[string]int{}, ""
	for _, f := range r.Files {
		whole, n := segmentOf(f.Name)
		last[whole] = max(last[whole], n)
		if strings.HasPrefix(f.Name, archiveName+"/") && path.Ext(f.Name) != indexExt && archiveSerial(f.Name) >= archiveSerial(lastArchive) {
			lastArchive = f.Name
		}
	}
	kept := &stored{Schema: r.list.Schema, Store: r.list.Store, Job: r.list.Job, Place: r.list.Place, From: r.list.From}
	var objects []storedObject
	for _, o := range r.list.Objects {
		whole, n := segmentOf(o.Name)
		archive := strings.HasPrefix(o.Name, archiveName+"/")
		switch {
		case slices.Contains(unsummed, whole), strings.HasPrefix(o.Name, frontierName+"/"): // no job stores such objects
			continue
		case whole == LedgerName && n >= last[whole]:
			if err := r.object(o); err != nil {
				return err
			}
		case (slices.Contains(inSegments, whole) || whole == ItemsCSVName || whole == ItemsTableName) && n >= last[whole]:
			continue
		case archive && (lastArchive == "" || archiveSerial(strings.TrimSuffix(o.Name, indexExt)) >= archiveSerial(lastArchive)):
			continue
		}
		objects = append(objects, o)
	}
	r.list = kept.with(objects...)
	return nil
}

// object copies an object of the store to the directory.
func (r *restorer) object(o storedObject) error {
	if err := r.room(o.Name, o.Bytes); err != nil {
		return err
	}
	return r.files.writeIn(o.Name, func(w io.Writer) error {
		h := sha256.New()
		n, err := io.Copy(io.MultiWriter(w, h), io.NewSectionReader(&awayFile{store: r.store, name: o.Name, size: o.Bytes}, 0, o.Bytes))
		if err == nil && (n != o.Bytes || hexSum(h) != o.SHA256) {
			err = &damage{o.Name + " is not what was stored"}
		}
		return err
	})
}

// getUpTo reads an object, up to limit bytes.
func getUpTo(ctx context.Context, s stores.Store, name string, limit int64) (b []byte, err error) {
	for range awayTries {
		var r io.ReadCloser
		if r, err = s.Get(ctx, name, 0, -1); err == nil {
			b, err = safefile.ReadAll(r, name, limit)
			err = errors.Join(err, r.Close())
		}
		if err == nil || ctx.Err() != nil || !errors.Is(err, stores.ErrAway) && !errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
	}
	return b, err
}
