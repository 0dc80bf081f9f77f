package job

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/stores"
)

// StoredNode is a copy of a node's directory in a store, made by the node or by an operator. Some files may be missing.
type StoredNode struct {
	Mark []byte // content of [NodeName]

	store  stores.Store
	prefix string // prefix of the names of the node's objects: "" or with a slash at the end
	url    string // URL of the store, for messages
	list   *stored
}

// Name returns the URL of the node's part of the store, for messages.
func (n *StoredNode) Name() string { return n.url + "/" + strings.TrimSuffix(n.prefix, "/") }

// FindNodes returns the nodes at any depth in a store. url is the store's URL, for messages.
func FindNodes(ctx context.Context, store stores.Store, url string) (nodes []*StoredNode, err error) {
	url = strings.TrimSuffix(url, "/")
	for o, err := range store.List(ctx, "") {
		if err != nil {
			return nil, &Error{Kind: Storage, Err: fmt.Errorf("store %s: %w", url, err)}
		}
		if path.Base(o.Name) == NodeName && stores.CheckName(o.Name) == nil {
			nodes = append(nodes, &StoredNode{store: store, prefix: strings.TrimSuffix(o.Name, NodeName), url: url})
		}
	}
	for _, n := range nodes {
		if n.Mark, err = getUpTo(ctx, store, n.prefix+NodeName, safefile.Token); err != nil {
			return nil, &Error{Kind: Storage, Err: fmt.Errorf("store %s: %w", url, err)}
		}
		b, err := getSmall(ctx, store, n.prefix+storedName)
		if missingFile(err) { // the directory was copied without NodeStore, and has no list
			continue
		}
		if err == nil {
			n.list, err = parseStored(b)
		}
		if err != nil {
			return nil, &Error{Kind: Storage, Err: fmt.Errorf("%s/%s%s: %w", url, n.prefix, storedName, err)}
		}
	}
	return nodes, nil
}

// copiedAtOnce is the number of segments that are read concurrently, and of objects of each that are read or written concurrently.
const copiedAtOnce = 4

// fetch copies a segment from the store to a directory below dir. An object that differs from the list is a *damage.
func (n *StoredNode) fetch(ctx context.Context, s *Segment, dir string) error {
	to := filepath.Join(dir, s.Dir())
	if err := os.MkdirAll(to, 0o755); err != nil {
		return outputError(err)
	}
	files, err := openJobFiles(to)
	if err != nil {
		return outputError(err)
	}
	under, all := n.prefix+filepath.ToSlash(s.Dir())+"/", newCrew()
	for o, err := range n.store.List(ctx, under) {
		name := strings.TrimPrefix(o.Name, under)
		if err == nil && !files.mayBeOurs(name) {
			continue
		}
		if !all.do(func() error {
			if err == nil {
				err = n.fetchFile(ctx, files.plainDir, name, o)
			}
			return err
		}) {
			break
		}
	}
	return errors.Join(all.wait(), files.close())
}

func (n *StoredNode) fetchFile(ctx context.Context, to plainDir, name string, o stores.Object) error {
	fact, listed := n.list.find(strings.TrimPrefix(o.Name, n.prefix))
	if !listed {
		fact.Bytes = o.Size
	}
	return to.writeIn(name, func(w io.Writer) error {
		h := sha256.New()
		in := io.NewSectionReader(&awayFile{store: n.store, name: o.Name, size: o.Size}, 0, o.Size)
		size, err := io.Copy(io.MultiWriter(w, h), whileWanted{ctx, in})
		if err == nil && (size != fact.Bytes || listed && hexSum(h) != fact.SHA256) {
			err = &damage{fmt.Sprintf("%s/%s is not what the node stored", n.url, o.Name)}
		}
		return err
	})
}

// whileWanted reads until a context ends.
type whileWanted struct {
	ctx context.Context
	io.Reader
}

// Read implements io.Reader.
func (r whileWanted) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(b)
}

// NodeFiles holds the places where the files of a node are.
type NodeFiles struct {
	Dir    string // "": the files are only in stores
	Stored []*StoredNode
}

// Gather finds the files of segments by the names of their nodes, several segments at the same time: in the nodes' directories,
// or else in stores, from which it copies them to directories below tmp. Everything that was committed is compared with its hash.
// If a segment is not available, Source.Lacks is the reason.
func Gather(ctx context.Context, segments []Segment, nodes map[string]NodeFiles, tmp string) ([]Source, error) {
	sources, all := make([]Source, len(segments)), newCrew()
	for i := range segments {
		s := &sources[i]
		s.Segment = segments[i]
		if !all.do(func() error { return s.gather(ctx, nodes[s.Node], filepath.Join(tmp, fmt.Sprint(i))) }) {
			break
		}
	}
	if err := all.wait(); err != nil {
		return nil, outputError(err)
	}
	return sources, nil
}

// gather finds the files of one segment.
func (s *Source) gather(ctx context.Context, n NodeFiles, tmp string) error {
	if n.Dir == "" && len(n.Stored) == 0 {
		if len(s.files) > 0 || s.Visits > 0 {
			s.Lacks = fmt.Sprintf("shard %d, epoch %d: the directory of node %s is not among those given: %s", s.Shard, s.Epoch, s.Node, cli.Plural(s.Visits, "visit"))
		}
		return nil
	}
	var why error
	if n.Dir != "" {
		if why = s.damage(n.Dir, n.Dir); why == nil {
			s.NodeDir = n.Dir
			return nil
		}
	}
	for _, x := range n.Stored {
		err := x.fetch(ctx, &s.Segment, tmp)
		if err != nil && !errors.As(err, new(*damage)) {
			return err
		}
		if err == nil {
			err = s.damage(tmp, x.Name())
		}
		if err == nil {
			s.NodeDir, s.fetched = tmp, true
			return nil
		}
		why = err
		if err := os.RemoveAll(tmp); err != nil {
			return err
		}
	}
	s.Lacks = fmt.Sprintf("shard %d, epoch %d: node %s: %v: %s", s.Shard, s.Epoch, s.Node, why, cli.Plural(s.Visits, "visit"))
	return nil
}

// callLimit limits the number of concurrent calls.
type callLimit struct {
	slots chan struct{}
	busy  sync.WaitGroup

	mu  sync.Mutex
	err error // the first error
}

func newCrew() *callLimit { return &callLimit{slots: make(chan struct{}, copiedAtOnce)} }

// do calls f in a goroutine as soon as one is free. It returns false once a call has failed.
func (c *callLimit) do(f func() error) bool {
	c.slots <- struct{}{}
	c.mu.Lock()
	failed := c.err != nil
	c.mu.Unlock()
	if failed {
		<-c.slots
		return false
	}
	c.busy.Go(func() {
		defer func() { <-c.slots }()
		err := f()
		c.mu.Lock()
		c.err = firstOf(c.err, err)
		c.mu.Unlock()
	})
	return true
}

// wait returns when everything is done, with the first error.
func (c *callLimit) wait() error {
	c.busy.Wait()
	return c.err
}
