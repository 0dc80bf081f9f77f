package sinktest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/amble-crawler/amble/sink"
)

func is(err, target error) bool { return errors.Is(err, target) }

// fill appends and syncs until an error occurs, and returns the last successful Sync.
func (k *kit) fill(s sink.Sink) (m mark, failed error) {
	var urls []string
	for range 1000 {
		r := k.record()
		if failed = s.Append(context.Background(), r); failed != nil {
			break
		}
		urls = append(urls, r.URL)
		offset, err := s.Sync(k.Context())
		if failed = err; failed != nil {
			break
		}
		m = mark{offset, append([]string(nil), urls...)}
	}
	return m, failed
}

// rooms returns sizes of free disk space, up to sizes with room for several records.
func rooms() []int {
	var rs []int
	for room := 0; room < 6000; room += 1 + room/12 {
		rs = append(rs, room)
	}
	return rs
}

func (k *kit) openFull(room int) sink.Sink {
	k.Helper()
	if k.suite.OpenFull == nil {
		k.Skip("no disk to fill")
	}
	k.dir = k.TempDir()
	s, err := k.suite.OpenFull(k.dir, room)
	if err != nil {
		k.Fatal(err)
	}
	return s
}

// fullDisk fills disks of many sizes, so that the disk becomes full during each kind of write.
func fullDisk(k *kit) {
	for _, room := range rooms() {
		s := k.openFull(room)
		m, failed := k.fill(s)
		if !is(failed, syscall.ENOSPC) {
			k.Fatalf("room for %d: %v, want ENOSPC", room, failed)
		}
		if err := s.Append(context.Background(), k.record()); err == nil {
			k.Fatalf("room for %d: Append after %v succeeds", room, failed)
		}
		if _, err := s.Sync(k.Context()); err == nil {
			k.Fatalf("room for %d: Sync after %v succeeds", room, failed)
		}
		_ = s.Close(k.Context())
		again := k.open()
		k.restore(again, m.offset)
		k.close(again)
		k.want(true, m.urls...)
	}
}

// restoreAfterFullDisk restores and then uses the same sink, while its disk remains full.
func restoreAfterFullDisk(k *kit) {
	for _, room := range rooms() {
		s := k.openFull(room)
		m, _ := k.fill(s)
		if err := s.Restore(k.Context(), m.offset); err != nil && !is(err, syscall.ENOSPC) {
			k.Fatalf("room for %d: Restore: %v", room, err)
		}
		_ = s.Close(k.Context())
		again := k.open()
		k.restore(again, m.offset)
		urls := append(m.urls, k.add(again, 1)...)
		k.close(again)
		k.want(true, urls...)
	}
}

// readOnly opens the output in a directory without write permission.
func readOnly(k *kit) {
	if err := os.Chmod(k.dir, 0o555); err != nil {
		k.Fatal(err)
	}
	defer func() { _ = os.Chmod(k.dir, 0o755) }()
	var err error
	if !asNobody(func() { err = k.tryAppend() }) {
		k.Skip("the superuser may write everywhere")
	}
	if !is(err, fs.ErrPermission) {
		k.Errorf("%v, want an error of permission", err)
	}
	if left := k.snapshot(); len(left) > 0 {
		k.Errorf("%v", left)
	}
}

func (k *kit) tryAppend() error {
	s, err := k.suite.Open(k.dir)
	if err != nil {
		return err
	}
	return errors.Join(s.Append(context.Background(), k.record()), s.Close(k.Context()))
}
