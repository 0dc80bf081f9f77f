package cluster

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/internal/safefile"
)

// DefaultSnapshotSize is the default of Config.SnapshotSize, in bytes.
const DefaultSnapshotSize = 64 << 20

// pointer is a register that names the latest snapshot of a shard. Seq never decreases.
type pointer struct {
	Seq  uint64 // sequence of the last group in the snapshot
	File string
	Size int64
}

func registerSnapshot(shard int) string { return fmt.Sprintf("snapshot-%d", shard) }

func loadPointer(ctx context.Context, e Registers, shard int) (p pointer, rev uint64, err error) {
	b, rev, err := e.Load(ctx, registerSnapshot(shard))
	if err != nil || rev == 0 {
		return p, rev, err
	}
	if err := json.Unmarshal(b, &p); err != nil {
		return p, rev, fmt.Errorf("cluster: the register of snapshots of shard %d: %w", shard, err)
	}
	return p, rev, nil
}

// snapshotDue reports whether the journal has grown enough since the last snapshot to store another one.
func (s *Shard) snapshotDue() bool {
	most := s.node.SnapshotSize
	if most <= 0 {
		most = DefaultSnapshotSize
	}
	return s.owner.grown() > max(most, s.snapSize.Load()/2)
}

// snapshot stores a snapshot of the shard's store, and trims the journal up to it. A snapshot is valid even if the owner changes meanwhile,
// because the store contains only groups of the journal. A failed snapshot is repeated later.
func (s *Shard) snapshot(ctx context.Context) error {
	dir := filepath.Join(filepath.Dir(s.Dir), "snapshot")
	defer os.RemoveAll(dir) //nolint:errcheck // removed before the next one
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	grown := s.owner.grown()
	if err := s.store.Checkpoint(ctx, dir); err != nil {
		return err
	}
	k, err := disk.OpenCopy(dir, s.node.store)
	if err != nil {
		return err
	}
	mark := k.Mark()
	if err := k.Close(); err != nil {
		return err
	}
	p := pointer{Seq: mark.Seq, File: fmt.Sprintf("%d/%d", s.Number, mark.Seq)}
	if p.Size, err = s.putDir(ctx, p.File, dir); err != nil {
		return err
	}
	before, err := s.point(ctx, p)
	if err != nil {
		return err
	}
	s.snapSize.Store(p.Size)
	s.owner.shrunk(grown)
	if err := s.node.engine.Trim(ctx, s.Number, p.Seq); err != nil || before == "" || before == p.File {
		return err
	}
	return s.node.engine.Delete(ctx, before)
}

// point makes p the latest snapshot, unless there is a later one, and returns the file of the previous snapshot.
func (s *Shard) point(ctx context.Context, p pointer) (before string, err error) {
	was, rev, err := loadPointer(ctx, s.node.engine, s.Number)
	if err != nil {
		return "", err
	}
	if was.Seq > p.Seq {
		return "", errors.New("cluster: there is a later snapshot")
	}
	b, err := json.Marshal(p)
	if err != nil {
		return "", err
	}
	_, err = s.node.engine.Store(ctx, registerSnapshot(s.Number), b, rev)
	return was.File, err
}

// putDir stores the files of a directory as one file in the engine.
func (s *Shard) putDir(ctx context.Context, name, dir string) (size int64, err error) {
	r, w := io.Pipe()
	counted := &counter{w: w}
	s.tasks.Go(func() { _ = w.CloseWithError(pack(counted, dir)) })
	err = s.node.engine.Put(ctx, name, r)
	_ = r.CloseWithError(err) // lets the goroutine that packs end
	return counted.n.Load(), err
}

// counter counts the bytes written to w.
type counter struct {
	w io.Writer
	n atomic.Int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n.Add(int64(n))
	return n, err
}

// pack writes the files of a directory to w as a tar archive. The directory must contain only regular files.
func pack(w io.Writer, dir string) error {
	t := tar.NewWriter(w)
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range files {
		if e.Type().IsRegular() {
			if err := packFile(t, filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return t.Close()
}

func packFile(t *tar.Writer, path string) error {
	f, err := safefile.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // opened only for reading
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := t.WriteHeader(&tar.Header{Name: info.Name(), Mode: 0o644, Size: info.Size()}); err != nil {
		return err
	}
	_, err = io.CopyN(t, f, info.Size())
	return err
}

// restore fills dir, which must not exist, with the latest snapshot of a shard. It does nothing if there is none.
func restore(ctx context.Context, e Engine, shard int, dir string) error {
	p, rev, err := loadPointer(ctx, e, shard)
	if err != nil || rev == 0 {
		return err
	}
	r, err := e.Get(ctx, p.File)
	if err != nil {
		return fmt.Errorf("cluster: the snapshot %s: %w", p.File, err)
	}
	return errors.Join(unpack(r, dir), r.Close())
}

func unpack(r io.Reader, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // only a directory
	for t := tar.NewReader(r); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cluster: unpack a snapshot: %w", err)
		}
		if h.Typeflag != tar.TypeReg || h.Name != filepath.Base(h.Name) {
			return fmt.Errorf("cluster: a snapshot contains %q", h.Name)
		}
		if err := unpackFile(root, h.Name, t); err != nil {
			return err
		}
	}
}

func unpackFile(root *os.Root, name string, r io.Reader) error {
	f, err := root.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}
