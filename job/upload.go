package job

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/stores"
	"github.com/amble-crawler/amble/stores/open"
)

// Delays between attempts to reach a store.
const (
	firstTry = time.Second
	lastTry  = time.Minute
)

// uploads moves closed segments and finished archives of a job to its store, in a goroutine of Run. A commit only notifies it and never
// waits for it.
type uploads struct {
	storedFiles
	j *Job

	// Guarded by mu.
	claimed bool            // the prefix in the store is known to belong to this job
	ready   []storedObject  // final files that are not in the list yet
	needed  map[string]bool // files in the directory that must stay: the last segment of each file, the last archive
	held    int64           // bytes of results in the directory at the last commit
	gone    map[string]bool // files of the list that were removed from the directory
	paused  bool            // the crawl was paused for lack of space
	wake    chan struct{}   // holds a value if there may be work
	hurry   chan struct{}   // holds a value if the crawl waits for space
	next    time.Time       // time at which the queue is stored next
	leave   func()          // ends the lease

	// Guarded by busy.
	parts  map[string]bool       // parts of the queue in the store; nil: unknown
	files  map[string]queuedFile // files of the queue as stored last
	robots []string              // parts with robots.txt files
	packed map[string]bool       // names of the robots.txt files in the parts of robots
}

// openStore connects the job to its store. A store that rejects access is an error; an unreachable one is only noted.
func (j *Job) openStore(ctx context.Context) error {
	list, err := j.files.readStored()
	if err != nil {
		return readError(err)
	}
	url := j.config.Store
	switch {
	case list == nil && url == "":
		return nil
	case list != nil && list.Store != url:
		return refused("job %s keeps what is finished in %s, which cannot be changed: set store to it again", j.dir, list.Store)
	}
	store, err := open.URL(url)
	if err != nil {
		return &Error{Kind: Refused, Err: &KeyError{Key: "store", Value: url, Err: err}}
	}
	fresh := list == nil
	if fresh {
		list = newStored(url)
	}
	// Place is missing in lists of earlier versions. It is written before the claim, so that a job killed in between recognizes its claim.
	if fresh || list.Place == "" {
		list.Place = cmp.Or(list.Place, rand.Text())
		if err := j.files.replace(storedName, list.encode()); err != nil {
			return errors.Join(outputError(err), open.Close(store))
		}
	}
	u := &uploads{storedFiles: storedFiles{files: j.files, store: store, list: list, note: j.tell, keepList: func(list *stored) error {
		return outputError(j.files.replace(storedName, list.encode()))
	}}, j: j, gone: map[string]bool{}, needed: map[string]bool{}, wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1)}
	for _, o := range list.Objects {
		if _, err := j.files.root.Lstat(o.Name); errors.Is(err, fs.ErrNotExist) {
			u.gone[o.Name] = true
		}
	}
	switch err := u.claim(ctx); {
	case errors.Is(err, stores.ErrAway):
		j.notef("the store %s cannot be reached at present: the crawl goes on, and what is finished is stored later", url)
	case err != nil:
		if fresh && j.manifest == nil {
			err = errors.Join(err, j.files.root.Remove(storedName))
		}
		var told *Error
		if !errors.As(err, &told) {
			err = &Error{Kind: Refused, Err: fmt.Errorf("store %s: %w", url, err)}
		}
		return errors.Join(err, open.Close(store))
	}
	if v, ok := store.(interface {
		Versioned(context.Context) (bool, error)
	}); ok && u.claimed {
		if on, err := v.Versioned(ctx); on && err == nil { // ignore an error: Versioned may need a separate permission
			j.notef("the bucket of %s keeps versions: what is replaced or removed there stays, and is paid for", url)
		}
	}
	u.leave = func() { u.endLease(context.WithoutCancel(ctx)) }
	j.uploads = u
	return outputError(j.files.root.RemoveAll(queueCopy)) // left by a process that was killed
}

// claim verifies that the prefix belongs to this job, and that objects can be written and removed there.
func (u *uploads) claim(ctx context.Context) error {
	b, err := getSmall(ctx, u.store, storedName)
	switch {
	case err == nil:
		theirs, err := parseStored(b)
		if err != nil {
			return fmt.Errorf("its %s is not that of a job: %w", storedName, err)
		}
		if theirs.Job != u.list.Job {
			return errors.New("another job is in it: name another prefix")
		}
	case missingFile(err):
		for o, err := range u.store.List(ctx, "") {
			if err != nil {
				return err
			}
			if o.Name == probeName && o.Size == int64(len(u.list.Job)) { // left by an interrupted claim, or by one without permission to remove it
				continue
			}
			return fmt.Errorf("it is not empty: there is %s; name another prefix", o.Name)
		}
	default:
		return err
	}
	if err := u.mayClaim(ctx); err != nil {
		return err
	}
	if err := u.probe(ctx, u.list.Job); err != nil {
		return err
	}
	if err := u.putList(ctx, u.list); err != nil {
		return err
	}
	if err := u.renew(ctx, false); err != nil {
		return err
	}
	if u.list.From != "" {
		if err := u.takeOver(ctx); err != nil {
			return err
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.claimed = true
	return nil
}

// takeOver removes objects that the job's previous directory stored after the queue, which the queue does not know. They are no longer
// in the list.
func (u *uploads) takeOver(ctx context.Context) error {
	for o, err := range u.store.List(ctx, "") {
		if _, listed := u.list.find(o.Name); err == nil && !listed && o.Name != storedName && !isOfQueue(o.Name) && u.j.files.mayBeOurs(o.Name) {
			err = u.store.Delete(ctx, o.Name)
		}
		if err != nil {
			return err
		}
	}
	list := u.list.with()
	list.From = ""
	if err := u.j.files.replace(storedName, list.encode()); err != nil {
		return outputError(err)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.list = list
	return nil
}

// committed looks for files that became final with a commit.
func (u *uploads) committed() {
	extents := u.j.out.commits.extents
	lastArchive, last := lastOf(extents)
	u.mu.Lock()
	defer u.mu.Unlock()
	clear(u.needed)
	u.needed[lastArchive], u.needed[archiveIndex(lastArchive)] = true, true
	for whole, n := range last {
		u.needed[segmentName(whole, n)] = true
	}
	u.held = 0
	for name, e := range extents {
		if !u.gone[name] {
			u.held += e.Bytes
		}
		if was, stored := u.list.find(name); stored && was != (FileFact{e.Bytes, e.SHA256}) { // the stored copy is older than the file
			u.needed[name], u.needed[archiveIndex(name)] = true, true
		}
	}
	u.ready = u.list.missing(extents, lastArchive)
	if len(u.ready) > 0 || u.held > u.keep() || time.Now().After(u.next) {
		notify(u.wake)
	}
}

// lastOf returns the last archive, and the number of the last segment of each other file.
func lastOf(extents map[string]extent) (archive string, segments map[string]int) {
	segments = map[string]int{}
	for name := range extents {
		if strings.HasPrefix(name, archiveName+"/") {
			if archiveSerial(name) >= archiveSerial(archive) {
				archive = name
			}
			continue
		}
		whole, n := segmentOf(name)
		segments[whole] = max(segments[whole], n)
	}
	return archive, segments
}

// missing returns final files that the list lacks or has in another state, sorted by name. The last archive is not final yet.
func (s *stored) missing(extents map[string]extent, lastArchive string) (files []storedObject) {
	for _, name := range sortedKeys(extents) {
		e := extents[name]
		final := e.Closed || strings.HasPrefix(name, archiveName+"/") && name != lastArchive
		if was, ok := s.find(name); final && !(ok && was == FileFact{e.Bytes, e.SHA256}) {
			files = append(files, storedObject{name, FileFact{e.Bytes, e.SHA256}})
		}
	}
	return files
}

const indexExt = ".cdxj" // extension of the index of an archive

// archiveIndex returns the name of the index of an archive.
func archiveIndex(name string) string {
	base, _, _ := strings.Cut(path.Base(name), ".warc")
	return path.Join(path.Dir(name), base+indexExt)
}

// archiveSerial returns the number of an archive, 0 if it has none.
func archiveSerial(name string) int {
	base, _, _ := strings.Cut(path.Base(name), ".warc")
	n, _ := strconv.Atoi(base[strings.LastIndexByte(base, '-')+1:])
	return n
}

// keep returns the maximum bytes of results in the directory.
func (u *uploads) keep() int64 {
	if k := u.j.config.KeepLocal; k > 0 {
		return int64(k)
	}
	return math.MaxInt64
}

// notify sends a value to a channel of capacity one, unless it is full.
func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run stores final files, and the queue, until ctx ends.
func (u *uploads) run(ctx context.Context) {
	notify(u.wake) // an earlier process may have left files
	for {
		select {
		case <-ctx.Done():
			return
		case <-u.wake:
		}
		for delay := firstTry; ; delay = min(2*delay, lastTry) {
			before, full := u.known(), u.full() // read before storing, to find out later whether anything was stored
			err := u.storeReady(ctx)
			if err == nil {
				err = u.storeRobotsAgain(ctx)
			}
			if waits := u.relieve(full && err == nil && u.known() == before); waits && err == nil { // more files became final meanwhile
				notify(u.wake)
			}
			if err == nil {
				err = u.storeQueueAgain(ctx)
			}
			if u.known() != before { // something was stored
				delay = firstTry
			}
			if err == nil || ctx.Err() != nil {
				u.say("")
				break
			}
			if errors.Is(err, errMoved) {
				u.moved(err)
				return
			}
			u.say(fmt.Sprintf("%v; the crawl goes on, and it is tried again", err))
			select {
			case <-ctx.Done():
				return
			case <-u.hurry:
			case <-time.After(delay):
			}
		}
	}
}

// due reports whether the queue and other slow copies are to be stored.
func (u *uploads) due() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return time.Now().After(u.next)
}

// storeQueueAgain stores the queue unless that was done recently.
func (u *uploads) storeQueueAgain(ctx context.Context) error {
	if !u.due() {
		return nil
	}
	err := u.storeQueue(ctx)
	if missingFile(err) { // a finished file was stored and removed meanwhile: the next copy of the queue takes this into account
		err = u.storeQueue(ctx)
	}
	return err
}

// storeReady stores all final files, updating the list after each, and removes copies that need not stay.
func (u *uploads) storeReady(ctx context.Context) error {
	u.busy.Lock()
	defer u.busy.Unlock()
	if !u.claimed {
		if err := u.claim(ctx); err != nil {
			return err
		}
	}
	for {
		u.mu.Lock()
		var next storedObject
		if len(u.ready) > 0 {
			next = u.ready[0]
		}
		u.mu.Unlock()
		if next.Name == "" {
			break
		}
		if err := u.ours(ctx); err != nil {
			return err
		}
		var also []string
		if strings.HasPrefix(next.Name, archiveName+"/") {
			also = append(also, archiveIndex(next.Name))
		}
		if err := u.put(ctx, append(also, next.Name), map[string]FileFact{next.Name: next.FileFact}); err != nil {
			return err
		}
		u.mu.Lock()
		u.ready = slices.DeleteFunc(u.ready, func(o storedObject) bool { return o.Name == next.Name })
		u.mu.Unlock()
		u.drop(u.keep())
		u.relieve(false)
	}
	u.drop(u.keep())
	return nil
}

// drop removes the oldest copies of stored files until at most keep bytes of results are left in the directory.
func (u *uploads) drop(keep int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, o := range u.list.Objects {
		if u.held <= keep {
			return
		}
		whole, _ := segmentOf(o.Name)
		archive := strings.HasPrefix(o.Name, archiveName+"/") && path.Ext(o.Name) != indexExt
		if u.gone[o.Name] || u.needed[o.Name] || !archive && !slices.Contains(inSegments, whole) {
			continue
		}
		if u.j.files.root.Remove(o.Name) != nil { // on failure, the file stays in the directory
			continue
		}
		u.gone[o.Name] = true
		u.held -= o.Bytes
		if index := archiveIndex(o.Name); archive && u.j.files.root.Remove(index) == nil { // removed only after its archive
			u.gone[index] = true
		}
	}
}

// short makes room when less space is left than the operator allows: it removes copies, or pauses the crawl until something is stored.
func (u *uploads) short() {
	u.drop(0)
	u.mu.Lock()
	defer u.mu.Unlock()
	if left, _, err := u.j.left(); err != nil || left >= 0 || u.paused {
		return
	}
	u.paused = true
	u.j.crawler.Pause()
	notify(u.wake)
	notify(u.hurry)
	waiting := "robots.txt files"
	if files, bytes := sizeOf(u.ready); files > 0 {
		waiting = fmt.Sprintf("%s (%s)", cli.Plural(files, "finished file"), cli.Bytes(bytes))
	}
	u.note(fmt.Sprintf("paused: the space for the job is used up, and %s waiting for the store; the crawl resumes by itself", waiting))
}

// waits reports whether the crawl is paused.
func (u *uploads) waits() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.paused
}

// full reports whether the crawl is paused and has no room.
func (u *uploads) full() bool {
	if !u.waits() {
		return false
	}
	left, _, err := u.j.left()
	return err == nil && left < 0
}

// relieve ends a pause that short began if there is room again, and reports whether the crawl still waits. If end is set, no more can be
// stored: without room the crawl ends.
func (u *uploads) relieve(end bool) (waits bool) {
	u.mu.Lock()
	paused, ready := u.paused, len(u.ready)
	u.mu.Unlock()
	if !paused {
		return false
	}
	u.drop(0)
	left, by, err := u.j.left()
	if err == nil && left < 0 { // in case of an error, the next write reports it
		if ready > 0 || !end {
			return true
		}
		u.j.crawler.DrainFor(by)
	}
	u.mu.Lock()
	u.paused = false
	u.mu.Unlock()
	u.j.crawler.Resume()
	if left >= 0 {
		u.note("resumed: there is space again")
	}
	return false
}

// sizeOf returns the number of objects and their total size.
func sizeOf(objects []storedObject) (files int, bytes int64) {
	for _, o := range objects {
		bytes += o.Bytes
	}
	return len(objects), bytes
}

// Upload stores all files of the job that are of use to others, so that the job can be read from its store alone. It waits for an
// unreachable store until ctx ends. Call it after Run, and after a report was written, and before Close; without a [Config.Store] it
// does nothing. If the job ended for other reasons than its limits, it will change again: then Upload stores only what [Restore] needs,
// and does not wait for an unreachable store.
func (j *Job) Upload(ctx context.Context) error {
	u := j.uploads
	if u == nil || !j.ended || j.manifest.Finish == "" || j.manifest.Finish == crawler.FinishError {
		return nil
	}
	u.committed() // learns what the crawl's last commit contains
	whole := j.manifest.Finish == crawler.FinishDone || j.manifest.Finish.Limit()
	for delay := firstTry; ; delay = min(2*delay, lastTry) {
		before := u.known()
		err := u.storeReady(ctx)
		if err == nil && whole {
			err = u.storeAll(ctx)
		}
		if err == nil {
			err = u.storeRobots(ctx)
		}
		switch {
		case err != nil:
		case j.manifest.Finish == crawler.FinishDone:
			if err = u.removeQueue(ctx); err == nil && j.config.KeepLocal > 0 { // rendered pages no longer need their resources
				err = outputError(j.files.root.RemoveAll(resourcesName))
			}
		default:
			err = u.storeQueue(ctx)
		}
		if u.known() != before { // something was stored
			delay = firstTry
		}
		switch {
		case errors.Is(err, errMoved):
			return &Error{Kind: Refused, Err: err}
		case err != nil && !whole:
			return &Error{Kind: Storage, Err: fmt.Errorf("what was crawled last is not in the store: %w: resume the job in %s", err, j.dir)}
		case !errors.Is(err, stores.ErrAway):
			if err != nil {
				err = &Error{Kind: Storage, Err: fmt.Errorf("%w: resume the job to store what is missing", err)}
			}
			return err
		}
		u.say(fmt.Sprintf("%v; waiting for the store: what is finished is in %s meanwhile", err, j.dir))
		select {
		case <-ctx.Done():
			return &Error{Kind: Storage, Err: fmt.Errorf("not everything is stored (%w): resume the job to store the rest", err)}
		case <-time.After(delay):
		}
	}
}

// storeAll stores all files, the manifest after the others and the list last.
func (u *uploads) storeAll(ctx context.Context) error {
	u.busy.Lock()
	defer u.busy.Unlock()
	names, err := u.j.files.recorded()
	if err != nil {
		return err
	}
	if there, err := u.j.files.has(SumsName); err == nil && there {
		names = append(names, SumsName)
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		_, err := u.j.files.root.Lstat(name)
		return err != nil || name == manifestName || name == storedName
	})
	if err := u.put(ctx, append(names, manifestName), nil); err != nil {
		return err
	}
	u.drop(u.keep())
	return nil
}

// Unstored reports whether the job in a directory has ended and is not completely stored, because Upload was interrupted.
func Unstored(dir string) bool {
	d, err := openJobFiles(dir)
	if err != nil {
		return false
	}
	defer func() { _ = d.close() }() // only read, so an error of closing loses nothing
	list, err := d.readStored()
	if err != nil || list == nil || list.Copy {
		return false
	}
	fact, err := d.factOf(manifestName)
	was, ok := list.find(manifestName)
	return err == nil && (!ok || was != fact)
}

// UploadRest completes an interrupted [Job.Upload] of a job that has ended. note is called with messages for the operator.
func UploadRest(ctx context.Context, dir string, note func(string)) (err error) {
	j, err := lockDir(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.release()) }()
	r := &Reader{dir: dir, files: j.files}
	if j.config, err = r.Config(); err != nil {
		return err
	}
	if err := CheckMaker(dir, &j.config); err != nil {
		return err
	}
	j.config.Note, j.ended = note, true
	if err := j.openStore(ctx); err != nil {
		return err
	}
	j.out = &outputs{commits: &commits{files: j.files, extents: map[string]extent{}}}
	if err := r.extents(func(name string, e *extent) { j.out.commits.extents[name] = *e }); err != nil && !missingFile(err) {
		return readError(err)
	}
	return j.Upload(ctx)
}

func factOfBytes(b []byte) FileFact {
	sum := sha256.Sum256(b)
	return FileFact{int64(len(b)), hex.EncodeToString(sum[:])}
}
