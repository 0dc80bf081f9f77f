package nats

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/amble-crawler/amble/cluster"
)

// partSize is the maximum size of a part of a file. Each part is an object, because the client sends a whole object before it waits for the
// first acknowledgement, while servers that sync each write accept few at a time, and because it must read an object within a single
// timeout. The file's main object is empty, and its metadata name the parts. Without this metadata, the main object is the whole file.
const partSize = 8 << 20

// Keys in the metadata of a file's main object.
const (
	metaSet   = "amble-set"   // ID of the set: a part is named after the file, this ID and a number
	metaParts = "amble-parts" // number of parts
)

// parts names the parts of a file.
type parts struct {
	name string // name of the file, and of the set of parts
	n    int
}

func (p parts) part(i int) string { return fmt.Sprintf("%s.%d", p.name, i) }

// Put implements cluster.Files.
func (e *Engine) Put(ctx context.Context, name string, r io.Reader) error {
	before, err := e.partsOf(ctx, name)
	if err != nil && !errors.Is(err, cluster.ErrNotFound) {
		return err
	}
	set := rand.Text()
	p := parts{name: name + "." + set}
	if err := e.putParts(ctx, &p, bufio.NewReader(r)); err != nil {
		e.deleteParts(context.WithoutCancel(ctx), p)
		return err
	}
	meta := map[string]string{metaSet: set, metaParts: strconv.Itoa(p.n)}
	if err := e.put(ctx, jetstream.ObjectMeta{Name: name, Metadata: meta}, nil); err != nil {
		return err // the object may have been stored nevertheless
	}
	e.deleteParts(ctx, before)
	return nil
}

func (e *Engine) putParts(ctx context.Context, p *parts, r *bufio.Reader) error {
	for {
		if _, err := r.Peek(1); errors.Is(err, io.EOF) {
			return nil
		}
		p.n++ // counted first, so that deleteParts removes an incomplete part, too
		if err := e.put(ctx, jetstream.ObjectMeta{Name: p.part(p.n - 1)}, io.LimitReader(r, cmp.Or(e.c.part, partSize))); err != nil {
			return err
		}
	}
}

func (e *Engine) put(ctx context.Context, m jetstream.ObjectMeta, r io.Reader) error {
	short, cancel := context.WithTimeout(ctx, partTimeouts*e.c.Timeout)
	defer cancel()
	_, err := e.snap.Put(short, m, r)
	return e.failed(err)
}

// partTimeouts is the maximum time to send or read a part, in multiples of Config.Timeout.
const partTimeouts = 12

// deleteParts removes parts if possible. Those that remain only take up space.
func (e *Engine) deleteParts(ctx context.Context, p parts) {
	for i := range p.n {
		_ = e.remove(ctx, p.part(i))
	}
}

// remove deletes an object if it exists.
func (e *Engine) remove(ctx context.Context, name string) error {
	err := e.snap.Delete(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil
	}
	return e.failed(err)
}

// partsOf returns the parts of a file; none if the file is a single object. The error may be cluster.ErrNotFound.
func (e *Engine) partsOf(ctx context.Context, name string) (p parts, err error) {
	info, err := e.snap.GetInfo(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return p, cluster.ErrNotFound
	}
	if err != nil {
		return p, e.failed(err)
	}
	if set := info.Metadata[metaSet]; set != "" {
		p.name = name + "." + set
		p.n, err = strconv.Atoi(info.Metadata[metaParts])
	}
	return p, e.failed(err)
}

// Get implements cluster.Files. It verifies the data while reading: reading a damaged file ends with an error.
func (e *Engine) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	p, err := e.partsOf(ctx, name)
	if err != nil {
		return nil, err
	}
	r := &fileReader{e: e, ctx: ctx, next: func(i int) string { return p.part(i) }, n: p.n}
	if p.name == "" {
		r.next, r.n = func(int) string { return name }, 1
	}
	return r, nil
}

// fileReader reads the parts of a file in order.
type fileReader struct {
	e      *Engine
	ctx    context.Context
	next   func(i int) string // returns the name of the file's part i
	i, n   int
	part   io.ReadCloser // part being read; nil between two parts
	cancel context.CancelFunc
}

// Read implements io.Reader.
func (r *fileReader) Read(b []byte) (int, error) {
	for {
		if r.part == nil {
			if r.i == r.n {
				return 0, io.EOF
			}
			if err := r.open(); err != nil {
				return 0, err
			}
		}
		n, err := r.part.Read(b)
		if errors.Is(err, io.EOF) {
			err = r.Close()
		} else {
			err = r.e.failed(err)
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// open opens the next part.
func (r *fileReader) open() error {
	var short context.Context
	short, r.cancel = context.WithTimeout(r.ctx, partTimeouts*r.e.c.Timeout)
	part, err := r.e.snap.Get(short, r.next(r.i))
	if err != nil {
		r.cancel()
		return r.e.failed(err)
	}
	r.part, r.i = part, r.i+1
	return nil
}

// Close implements io.Closer.
func (r *fileReader) Close() error {
	if r.part == nil {
		return nil
	}
	err := r.part.Close()
	r.cancel()
	r.part = nil
	return r.e.failed(err)
}

// Delete implements cluster.Files.
func (e *Engine) Delete(ctx context.Context, name string) error {
	p, err := e.partsOf(ctx, name)
	if errors.Is(err, cluster.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := e.remove(ctx, name); err != nil {
		return err
	}
	e.deleteParts(ctx, p)
	return nil
}
