package disk

import (
	"errors"
	"maps"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/amble-crawler/amble/frontier"
)

// rest returns an engine's entries other than URLs, and the number of URL keys.
func rest(t *testing.T, e *engine) (all map[string]string, urls int) {
	t.Helper()
	all = map[string]string{}
	err := e.scan([]byte{0}, []byte{0xff}, func(key, value []byte) (bool, error) {
		switch {
		case key[0] == tagSeen || key[0] == tagQueue || key[0] == tagDue:
			urls++
		case string(key) != string(keyMark):
			all[string(key)] = string(value)
		}
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, urls
}

// TestCopyWithoutURLs lets copies leave out the URLs of all groups of a journal, of the second half, or of none. They must
// have everything else that a full copy has. Their directories cannot be opened as a full copy or a store.
func TestCopyWithoutURLs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, child := halfDone(t, 40), halfDone(t, 3)
		fs := vfs.NewMem()
		follow(t, fs, p.of, len(p.of.groups))
		k, err := openCopy(fs, "/crawl", testConfig())
		if err != nil {
			t.Fatal(err)
		}
		c := frontier.Checkpoint{Owner: "cluster", Offsets: map[string]int64{"shards": 2}}
		err = k.Part(Part{Host: isEven, Checkpoint: c}, func(group []byte) error { // replaces all data of the child
			_, err := child.Append(group)
			return err
		})
		if err = errors.Join(err, k.Drop(isEven, c, p), k.Close()); err != nil {
			t.Fatal(err)
		}
		for name, q := range map[string]*sequence{"dropped": p.of, "part": child.of} {
			whole := vfs.NewMem()
			follow(t, whole, q, len(q.groups))
			full, err := openCopy(whole, "/crawl", testConfig())
			if err != nil {
				t.Fatal(err)
			}
			want, _ := rest(t, full.engine)
			pending := 0
			if err := errors.Join(full.Hosts(func(h HostCount) { pending += h.Queued + h.Waiting }), full.Close()); err != nil || pending == 0 {
				t.Fatalf("%s: %d pending, %v", name, pending, err)
			}
			for _, from := range []int{0, len(q.groups) / 2, len(q.groups)} {
				fs := vfs.NewMem()
				follow(t, fs, q, from)
				c := testConfig()
				c.NoURLs = true
				k, err := openCopy(fs, "/crawl", c)
				if err != nil {
					t.Fatal(err)
				}
				for i := from; i < len(q.groups); i++ {
					if err := k.Apply(q.groups[i], q.marks[i]); err != nil {
						t.Fatal(err)
					}
				}
				left := 0
				got, urls := rest(t, k.engine)
				err = errors.Join(k.Hosts(func(h HostCount) { left += h.Queued + h.Waiting }), k.Close())
				if !maps.Equal(got, want) || left != pending || urls > 0 && from == 0 || err != nil {
					t.Errorf("%s, without URLs from group %d on: %d entries of %d, %d pending of %d, %d URLs, %v", name, from, len(got), len(want), left, pending, urls, err)
				}
				c = testConfig()
				if k, err := openCopy(fs, "/crawl", c); !errors.Is(err, errCopy) {
					t.Errorf("another copy was opened: %v", errors.Join(err, k.Close()))
				}
				c.Journal = &pen{of: q}
				if s, err := open(fs, "/crawl", c, tuned()); !errors.Is(err, errCopy) {
					t.Errorf("a store was opened: %v", errors.Join(err, s.Close()))
				}
			}
		}
	})
}

// TestCopyWithoutURLsRefusesRubbish checks that invalid or incomplete groups are not applied.
func TestCopyWithoutURLsRefusesRubbish(t *testing.T) {
	q := &sequence{}
	s, err := open(vfs.NewMem(), "/crawl", Config{Journal: &pen{of: q}}, tuned())
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{s: s, life: "1", say: func(string) {}}
	if err := errors.Join(w.add(t.Context(), "http://a.test/1"), s.Close()); err != nil {
		t.Fatal(err)
	}
	group := q.groups[len(q.groups)-1]
	count := append([]byte(nil), group...)
	count[8]++ // number of entries
	kind := append([]byte(nil), group...)
	kind[12] = 2 // makes the first entry a merge
	for name, b := range map[string][]byte{"text": []byte("rubbish"), "cut": group[:len(group)-1], "count": count, "kind": kind, "empty": nil} {
		c := testConfig()
		c.NoURLs = true
		k, err := openCopy(vfs.NewMem(), "/crawl", c)
		if err != nil {
			t.Fatal(err)
		}
		if err := k.Apply(b, Mark{Seq: 1}); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v, want ErrDamaged", name, err)
		}
		_ = k.Close()
	}
}
