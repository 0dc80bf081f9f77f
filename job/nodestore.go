package job

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/stores"
	"github.com/amble-crawler/amble/stores/open"
)

// NodeStore copies the finished segments of a node to a store, below the node's name, so that nodes do not touch each other's
// objects: the segments that it has added, and those that earlier processes left in its directory. It works in the background;
// only Finish waits for it.
type NodeStore struct {
	storedFiles
	dir, url string
	mark     []byte // content of NodeName
	all      stores.Store
	wake     chan struct{} // holds a value if there may be work
	cancel   context.CancelFunc
	running  sync.WaitGroup

	claimed bool     // guarded by busy: the place in the store is known to belong to this node
	queue   []string // guarded by mu: directories of segments to store
}

// OpenNodeStore starts storing the finished segments of a node from its directory, which must have a [NodeName]. note is called,
// concurrently, with messages for the operator. The error is of kind Refused if the store rejects access, such as for a missing
// bucket or permission; an unreachable store is only noted. Call Finish to end it.
func OpenNodeStore(ctx context.Context, dir, url, node string, note func(string)) (*NodeStore, error) {
	if stores.CheckName(node) != nil || strings.Contains(node, "/") {
		return nil, refused("the name of node %q cannot be one in a store: give it another one, without slashes", node)
	}
	all, err := open.URL(url)
	if err != nil {
		return nil, refused("store %s: %w", url, err)
	}
	files, err := openJobFiles(dir)
	if err != nil {
		return nil, errors.Join(readError(err), open.Close(all))
	}
	n := &NodeStore{dir: dir, url: url, all: all, wake: make(chan struct{}, 1)}
	n.storedFiles = storedFiles{files: files, store: below{all, node + "/"}, note: note, keepList: func(*stored) error { return nil }}
	if n.mark, err = files.read(NodeName); err == nil {
		err = n.findLeft()
	}
	if err != nil {
		return nil, errors.Join(readError(err), n.close())
	}
	switch err := n.claim(ctx); {
	case errors.Is(err, stores.ErrAway):
		n.say(fmt.Sprintf("%v; the node works, and what is finished is stored later", err))
	case err != nil:
		return nil, errors.Join(refused("store %s: %w", url, err), n.close())
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	n.cancel = cancel
	n.running.Go(func() { n.run(running) })
	return n, nil
}

func (n *NodeStore) close() error { return errors.Join(n.files.close(), open.Close(n.all)) }

// findLeft adds the segments that earlier processes left. They are complete.
func (n *NodeStore) findLeft() error {
	shards, err := n.files.list(".")
	if err != nil {
		return err
	}
	for _, shard := range shards {
		if _, err := strconv.ParseUint(shard.Name(), 10, 64); err != nil || !shard.IsDir() {
			continue
		}
		epochs, err := n.files.list(shard.Name())
		if err != nil {
			return err
		}
		for _, epoch := range epochs {
			if _, err := strconv.ParseUint(epoch.Name(), 10, 64); err == nil && epoch.IsDir() {
				n.queue = append(n.queue, path.Join(shard.Name(), epoch.Name()))
			}
		}
	}
	return nil
}

// claim verifies that the place in the store belongs to this node, and that objects can be written and removed there.
func (n *NodeStore) claim(ctx context.Context) error {
	b, err := getUpTo(ctx, n.store, NodeName, safefile.Token)
	switch {
	case err == nil && !bytes.Equal(b, n.mark):
		return errors.New("a node of this name, of another job, is in it: name another prefix")
	case missingFile(err):
		for o, err := range n.store.List(ctx, "") {
			if err != nil {
				return err
			}
			if o.Name != probeName && o.Name != storedName { // an interrupted claim may have left these two objects
				return fmt.Errorf("the place of the node is not empty: there is %s; name another prefix", o.Name)
			}
		}
	case err != nil:
		return err
	}
	if err := n.probe(ctx, string(n.mark)); err != nil {
		return err
	}
	list := newStored("")
	switch b, err := getSmall(ctx, n.store, storedName); {
	case err == nil:
		if list, err = parseStored(b); err != nil {
			return fmt.Errorf("its %s is not that of a node: %w", storedName, err)
		}
	case !missingFile(err):
		return err
	default:
		if err := n.putList(ctx, list); err != nil {
			return err
		}
	}
	if err := putBytes(ctx, n.store, NodeName, n.mark); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list, n.claimed = list, true
	return nil
}

// Add queues a segment that is complete.
func (n *NodeStore) Add(s *Segment) {
	n.mu.Lock()
	n.queue = append(n.queue, filepath.ToSlash(s.Dir()))
	n.mu.Unlock()
	notify(n.wake)
}

// run stores finished segments until ctx ends.
func (n *NodeStore) run(ctx context.Context) {
	for delay := firstTry; ; {
		err := n.storeReady(ctx)
		if ctx.Err() != nil {
			return
		}
		wake, again := n.wake, (<-chan time.Time)(nil)
		if err == nil {
			n.say("")
			delay = firstTry
		} else { // wake stays nil, so that a new segment does not shorten the delay
			n.say(fmt.Sprintf("%v; the node works, and it is tried again", err))
			wake, again = nil, time.After(delay)
			delay = min(2*delay, lastTry)
		}
		select {
		case <-ctx.Done():
			return
		case <-wake:
		case <-again:
		}
	}
}

// storeReady stores all finished segments, oldest first.
func (n *NodeStore) storeReady(ctx context.Context) error {
	n.busy.Lock()
	defer n.busy.Unlock()
	for {
		n.mu.Lock()
		left := n.queue
		n.mu.Unlock()
		if !n.claimed {
			if err := n.claim(ctx); err != nil {
				return err
			}
		}
		if len(left) == 0 {
			return nil
		}
		if err := n.storeSegment(ctx, left[0]); err != nil {
			return err
		}
		n.mu.Lock()
		n.queue = n.queue[1:]
		n.mu.Unlock()
	}
}

// storeSegment stores the directory of a segment: first the bodies of robots.txt files, which are named by their hashes and are
// not in the list, then the other files, then the list.
func (n *NodeStore) storeSegment(ctx context.Context, dir string) error {
	var names, bodies []string
	for _, sub := range []string{".", robotsName, archiveName} {
		entries, err := n.files.list(path.Join(dir, sub))
		if err != nil {
			return err
		}
		for _, e := range entries {
			name := path.Join(dir, sub, e.Name())
			info, err := e.Info()
			if err != nil {
				return err
			}
			was, stored := n.list.find(name)
			switch {
			case !e.Type().IsRegular() || !n.files.mayBeOurs(path.Join(sub, e.Name())):
			case sub == robotsName && isRobotsBody(e.Name()):
				bodies = append(bodies, name)
			case !stored || was.Bytes != info.Size(): // not stored yet, or changed since
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	all := newCrew()
	for _, name := range bodies {
		if !all.do(func() error {
			fact, err := n.files.factOf(name)
			if err == nil {
				err = n.putFile(ctx, storedObject{name, fact})
			}
			return err
		}) {
			break
		}
	}
	if err := all.wait(); err != nil {
		return err
	}
	slices.Sort(names)
	return n.put(ctx, names, nil)
}

// Finish stores the remaining segments and closes n. The error names segments that could not be stored: the next process that
// works in the directory stores them.
func (n *NodeStore) Finish(ctx context.Context) error {
	n.cancel()
	n.running.Wait()
	err := n.storeReady(ctx)
	closed := n.close()
	left := len(n.queue) // no lock is needed: all goroutines have ended
	if err == nil || left == 0 {
		return closed
	}
	return &Error{Kind: Storage, Err: fmt.Errorf("%s of this node could not be stored: %w: what is finished is in %s: start the node again with this directory to store the rest", cli.Plural(left, "segment"), err, n.dir)}
}

// below is a view of a store: the objects whose names begin with a prefix.
type below struct {
	all    stores.Store
	prefix string
}

// Put implements stores.Store.
func (b below) Put(ctx context.Context, o stores.Object, body io.ReadSeeker) error {
	o.Name = b.prefix + o.Name
	return b.all.Put(ctx, o, body)
}

// Get implements stores.Store.
func (b below) Get(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	return b.all.Get(ctx, b.prefix+name, offset, length)
}

// Stat implements stores.Store.
func (b below) Stat(ctx context.Context, name string) (stores.Object, error) {
	o, err := b.all.Stat(ctx, b.prefix+name)
	o.Name = name
	return o, err
}

// List implements stores.Store.
func (b below) List(ctx context.Context, prefix string) iter.Seq2[stores.Object, error] {
	return func(yield func(stores.Object, error) bool) {
		for o, err := range b.all.List(ctx, b.prefix+prefix) {
			o.Name = strings.TrimPrefix(o.Name, b.prefix)
			if !yield(o, err) {
				return
			}
		}
	}
}

// Delete implements stores.Store.
func (b below) Delete(ctx context.Context, name string) error {
	return b.all.Delete(ctx, b.prefix+name)
}
