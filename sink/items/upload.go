package items

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/amble-crawler/amble/internal/durable"
	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/stores"
)

// Times between two attempts to reach a store: the first, and the maximum.
const (
	firstTry = time.Second
	lastTry  = time.Minute
)

// uploads copies complete files to a store, in a goroutine. The file NAME.sha256 lists the files in the store, in the format of sha256sum;
// before them, it lists as comments the files that may be there.
type uploads struct {
	store       stores.Store
	dir, prefix string
	list        string // path of NAME.sha256
	told        func(error)
	stop        context.CancelFunc
	ended       chan struct{}
	wake        chan struct{} // receives a value when something is queued

	writing sync.Mutex        // held during writes to the store
	stored  map[string]string // lines of the list, by file name
	begun   map[string]bool   // files that may be stored, because the result of a Put is not known

	mu      sync.Mutex
	queue   []string // names of files to store
	offered int64    // last row of the files queued so far
	round   int      // number of Restores; files queued before a Restore may no longer exist
}

// UploadTo makes s copy its complete files to a store, as objects prefix/NAME-… with their SHA-256. Call it once, after OpenShards and
// before the crawl. The files also stay in the directory, where NAME.sha256 lists those that are stored.
//
// A file is stored after a commit has made it final; s learns this at the next Sync, or by a Restore. Kills do no harm: an object has the
// name and content of its file, so each row is in only one object. Append and Sync do not wait for the store. While the store cannot be
// reached, another goroutine calls failed with each error, and tries again within a minute. failed may be nil. Close ends the uploads;
// [Shards.Upload] stores the rest. A Restore to an offset before the end of a stored file removes its object, and fails if the store cannot
// be reached.
func (s *Shards[T]) UploadTo(store stores.Store, prefix string, failed func(error)) error {
	if s.closed || s.up != nil {
		return fmt.Errorf("items: shards %s: UploadTo is for an open Shards, once", s.Name())
	}
	if prefix != "" && stores.CheckName(prefix) != nil {
		return fmt.Errorf("items: shards %s: %w", s.Name(), stores.CheckName(prefix))
	}
	if failed == nil {
		failed = func(error) {}
	}
	ctx, stop := context.WithCancel(context.Background())
	u := &uploads{
		store: store, dir: s.dir, prefix: prefix, list: filepath.Join(s.dir, s.name+".sha256"), told: failed,
		stop: stop, ended: make(chan struct{}), wake: make(chan struct{}, 1),
		stored: map[string]string{}, begun: map[string]bool{},
	}
	if err := u.readList(); err != nil {
		stop()
		return fmt.Errorf("items: shards %s: %w", s.Name(), err)
	}
	s.up = u
	go u.run(ctx)
	return nil
}

// Upload stores all complete files that are not stored yet, and returns when all are. It retries until ctx ends. Call it when the crawl has
// ended without an error: after Close, or in a later process after OpenShards and UploadTo.
func (s *Shards[T]) Upload(ctx context.Context) error {
	if s.up == nil {
		return fmt.Errorf("items: shards %s: UploadTo must come first", s.Name())
	}
	if s.err != nil {
		return s.err
	}
	for _, x := range s.files {
		if err := s.up.try(ctx, filepath.Base(x.path), s.up.now()); err != nil {
			return fmt.Errorf("items: shards %s: %w", s.Name(), err)
		}
	}
	return nil
}

// offer queues the files whose rows are all committed.
func (u *uploads) offer(files []shard, committed int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, x := range files {
		if x.last > u.offered && x.last <= committed {
			u.queue, u.offered = append(u.queue, filepath.Base(x.path)), x.last
		}
	}
	select {
	case u.wake <- struct{}{}:
	default:
	}
}

func (u *uploads) next() (name string, round int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.queue) > 0 {
		name, u.queue = u.queue[0], u.queue[1:]
	}
	return name, u.round
}

func (u *uploads) now() (round int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.round
}

func (u *uploads) run(ctx context.Context) {
	defer close(u.ended)
	for ctx.Err() == nil {
		if name, round := u.next(); name != "" {
			_ = u.try(ctx, name, round) // try fails only if ctx has ended
			continue
		}
		select {
		case <-u.wake:
		case <-ctx.Done():
		}
	}
}

// try stores a file. It retries until ctx ends.
func (u *uploads) try(ctx context.Context, name string, round int) error {
	for wait := firstTry; ; wait = min(2*wait, lastTry) {
		err := u.put(ctx, name, round)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			u.told(err)
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// put stores a file and adds it to the list. It does nothing if the file is listed already, or was queued before a Restore.
func (u *uploads) put(ctx context.Context, name string, round int) error {
	u.writing.Lock()
	defer u.writing.Unlock()
	if u.stored[name] != "" || round != u.now() {
		return nil
	}
	f, err := safefile.Open(filepath.Join(u.dir, name))
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // opened only for reading
	h := sha256.New()
	size, err := io.Copy(h, f)
	if err != nil {
		return err
	}
	o := stores.Object{Name: path.Join(u.prefix, name), Size: size, SHA256: [32]byte(h.Sum(nil))}
	if !u.begun[name] {
		u.begun[name] = true
		if err := u.writeList(); err != nil {
			delete(u.begun, name)
			return err
		}
	}
	if err := u.store.Put(ctx, o, f); err != nil {
		return fmt.Errorf("store %s: %w", name, err)
	}
	u.stored[name] = fmt.Sprintf("%x  %s\n", o.SHA256, name)
	delete(u.begun, name)
	if err := u.writeList(); err != nil {
		delete(u.stored, name)
		u.begun[name] = true
		return err
	}
	return nil
}

// begins is the prefix of a line about a file that may be stored. sha256sum reads such a line as a comment.
const begins = "# begun: "

func (u *uploads) writeList() error {
	var list strings.Builder
	for _, name := range slices.Sorted(maps.Keys(u.begun)) {
		list.WriteString(begins + name + "\n")
	}
	for _, name := range slices.Sorted(maps.Keys(u.stored)) {
		list.WriteString(u.stored[name])
	}
	return durable.Replace(u.list, []byte(list.String()))
}

// maxList limits the list of stored files in bytes. Each file takes about 100.
const maxList = 64 << 20

// readList reads the list up to the first invalid line: the files after that line are stored again. It also removes unfinished lists of
// killed processes.
func (u *uploads) readList() error {
	if err := durable.RemoveUnfinished(u.list); err != nil {
		return err
	}
	b, err := safefile.Read(u.list, maxList)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(b)) {
		if name, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), begins); ok {
			u.begun[name] = true
			continue
		}
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if raw, err := hex.DecodeString(sum); err != nil || len(raw) != sha256.Size || name == "" || !strings.HasSuffix(line, "\n") {
			break
		}
		u.stored[name] = line
	}
	return nil
}

// remove removes files that have rows after offset from the store, and then from the list. Such files exist only if the crawl goes back to
// an earlier state, because each of them became final by a commit.
func (u *uploads) remove(ctx context.Context, files []shard, offset int64) error {
	u.writing.Lock()
	defer u.writing.Unlock()
	u.mu.Lock()
	u.queue, u.offered = nil, 0
	u.round++
	u.mu.Unlock()
	removed := false
	for _, x := range files {
		name := filepath.Base(x.path)
		if u.stored[name] == "" && !u.begun[name] || x.last <= offset {
			continue
		}
		if err := u.store.Delete(ctx, path.Join(u.prefix, name)); err != nil {
			return fmt.Errorf("remove %s, which is beyond row %d, from the store: %w", name, offset, err)
		}
		delete(u.stored, name)
		delete(u.begun, name)
		removed = true
	}
	if !removed {
		return nil
	}
	return u.writeList()
}
