package sinktest

import (
	"slices"
)

func offsetsGrow(k *kit) {
	s := k.open()
	last := k.sync(s)
	for range 10 {
		k.add(s, 2)
		offset := k.sync(s)
		if offset <= last {
			k.Fatalf("Sync %d after %d", offset, last)
		}
		if again := k.sync(s); again != offset {
			k.Fatalf("Sync %d, then %d without an Append", offset, again)
		}
		last = offset
	}
	k.close(s)
}

func emptyIsZero(k *kit) {
	for range 2 {
		s := k.open()
		if offset := k.sync(s); offset != 0 {
			k.Fatalf("Sync %d", offset)
		}
		k.restore(s, 0)
		k.close(s)
		k.want(true)
	}
}

func openingKeepsOffset(k *kit) {
	s := k.open()
	urls := k.add(s, 3)
	offset := k.sync(s)
	k.close(s)
	for range 2 {
		s = k.open()
		if got := k.sync(s); got != offset {
			k.Fatalf("Sync %d after opening, was %d", got, offset)
		}
		k.close(s)
	}
	k.want(true, urls...)
}

func syncedOutlivesKill(k *kit) {
	s := k.open()
	urls := k.add(s, 5)
	offset := k.sync(s)
	k.lay(k.snapshot())
	k.want(false, urls...)
	killed := s
	s = k.open()
	k.restore(s, offset)
	k.close(s)
	k.want(true, urls...)
	_ = killed.Close(k.Context())
}

// mark is an offset, and the content of the output at this offset.
type mark struct {
	offset int64
	urls   []string
}

// history appends records in several runs. It returns the marks of all syncs, and all URLs.
func history(k *kit) (marks []mark, urls []string) {
	marks = append(marks, mark{})
	for range 3 {
		s := k.open()
		for i := range 4 {
			urls = append(urls, k.add(s, i%3)...)
			marks = append(marks, mark{k.sync(s), slices.Clone(urls)})
		}
		urls = append(urls, k.add(s, 1)...)
		k.close(s)
	}
	return marks, urls
}

func restoreToEveryOffset(k *kit) {
	marks, _ := history(k)
	all := k.snapshot()
	for _, m := range marks {
		k.lay(all)
		s := k.open()
		k.restore(s, m.offset)
		if got := k.sync(s); got != m.offset {
			k.Errorf("Sync %d after Restore(%d)", got, m.offset)
		}
		k.close(s)
		k.want(true, m.urls...)
	}
}

// restoreToEarlierRun restores step by step to marks of all runs, and appends records in between.
func restoreToEarlierRun(k *kit) {
	marks, _ := history(k)
	for _, m := range slices.Backward(marks) {
		s := k.open()
		k.restore(s, m.offset)
		k.add(s, 1)
		k.close(s)
		s = k.open()
		k.restore(s, m.offset)
		k.close(s)
		k.want(true, m.urls...)
	}
}

func restoreToZero(k *kit) {
	_, urls := history(k)
	k.want(true, urls...)
	s := k.open()
	k.restore(s, 0)
	if offset := k.sync(s); offset != 0 {
		k.Errorf("Sync %d", offset)
	}
	k.want(false)
	urls = k.add(s, 2)
	k.close(s)
	k.want(true, urls...)
}

func refusesBeyond(k *kit) {
	s := k.open()
	urls := k.add(s, 3)
	offset := k.sync(s)
	k.close(s)
	for _, beyond := range []int64{offset + 1, offset + 1<<50, -1, -offset} {
		s := k.open()
		if err := s.Restore(k.Context(), beyond); err == nil {
			k.Errorf("Restore(%d) of an output of %d", beyond, offset)
		}
		k.close(s)
		k.want(true, urls...)
	}
	k.dir = k.TempDir()
	s = k.open()
	if err := s.Restore(k.Context(), offset); err == nil {
		k.Errorf("Restore(%d) of an empty output", offset)
	}
	k.close(s)
	k.want(true)
}

func appendAfterRestore(k *kit) {
	marks, _ := history(k)
	all := k.snapshot()
	for _, m := range marks {
		k.lay(all)
		s := k.open()
		k.restore(s, m.offset)
		urls := append(slices.Clone(m.urls), k.add(s, 2)...)
		second := k.sync(s)
		if second <= m.offset {
			k.Errorf("Sync %d after Restore(%d) and Append", second, m.offset)
		}
		k.add(s, 1)
		k.close(s)
		s = k.open()
		k.restore(s, second)
		k.close(s)
		k.want(true, urls...)
	}
}

func restoreTwice(k *kit) {
	marks, _ := history(k)
	m := marks[len(marks)/2]
	for range 3 {
		s := k.open()
		k.restore(s, m.offset)
		k.restore(s, m.offset)
		k.close(s)
		k.want(true, m.urls...)
	}
}
