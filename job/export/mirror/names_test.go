package mirror

import (
	"errors"
	"hash/maphash"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/amble-crawler/amble/weburl"
)

func parsed(t *testing.T, s string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestPathOf(t *testing.T) {
	long, accents := strings.Repeat("long", 60), strings.Repeat("%C3%A9", 100)
	for _, c := range []struct{ url, mediaType, want string }{
		{"http://a.example/", "text/html", "a.example/index.html"},
		{"http://a.example:8080/", "text/html", "a.example+8080/index.html"},
		{"http://a.example//x", "text/html", "a.example/_/x.html"},
		{"http://a.example/caf%E9", "text/html", "a.example/caf%E9.html"},
		{"http://a.example/caf%C3%A9", "text/html", "a.example/café.html"},
		{"http://a.example/x.php", "application/x-httpd-php", "a.example/x.php.bin"},
		{"http://a.example/x.html", "application/octet-stream", "a.example/x.html.bin"},
		{"http://a.example/x.svg", "application/octet-stream", "a.example/x.svg.bin"},
		{"http://a.example/x.png", "application/octet-stream", "a.example/x.png"},
		{"http://a.example/x.PNG", "image/png", "a.example/x.PNG"},
		{"http://a.example/.png", "image/png", "a.example/_.png.png"},
		{"http://a.example/" + long + "1/" + long + "2.png", "image/png", ""},
		{"http://a.example/" + long + "1.png", "image/png", ""},
		{"http://a.example/" + long + "2.png", "image/png", ""},
		{"http://a.example/" + long + "3/x.png", "image/png", ""},
		{"http://a.example/" + strings.Repeat("d", 130) + "/x", "text/html", ""},
		{"http://a.example/" + accents + "/x", "text/html", ""},
		{"http://a.example/" + accents, "text/html", ""},
		{"http://a.example/b" + accents, "text/html", ""},
		{"http://a.example/" + strings.Repeat("d/", 120) + "x", "text/html", ""},
	} {
		got := pathOf(parsed(t, c.url), c.mediaType, plain)
		if c.want != "" && got != c.want {
			t.Errorf("%s, %s: %q, want %q", c.url, c.mediaType, got, c.want)
		}
		if len(got) > maxPath || !utf8.ValidString(got) || strings.ContainsRune(got, utf8.RuneError) {
			t.Errorf("%.60s…: %q", c.url, got)
		}
		for part := range strings.SplitSeq(got, "/") {
			if part == "" || len(part) > maxName {
				t.Errorf("%.60s…: %q has a part of %d bytes", c.url, got, len(part))
			}
		}
	}
	one, two := pathOf(parsed(t, "http://a.example/"+long+"1.png"), "image/png", plain), pathOf(parsed(t, "http://a.example/"+long+"2.png"), "image/png", plain)
	if one == two || !strings.HasSuffix(one, ".png") || strings.Contains(one, asideName) {
		t.Errorf("long names that begin alike: %q, %q", one, two)
	}
}

// A name is taken if any system considers it equal to the name of an existing file. A file cannot also be a directory.
func TestTake(t *testing.T) {
	m := &mirror{taken: map[uint64]bool{}, seed: maphash.MakeSeed()}
	for _, c := range []struct {
		name string
		want bool
	}{
		{"h/a/b/c", true}, {"h/a/b/c", false}, {"h/A/b/C", false}, {"h/a/b", false}, {"h/a", false}, {"H", false}, {"h/a/b/c/d", false}, {"h/a/b/c/d/e", false},
		{"h/a/b/d", true}, {"h/x", true}, {"h/x/y/z", false}, {"h/x/y", false}, {"h/y", true}, {"h/caf\u00e9", true}, {"h/cafe\u0301", false}, {"h/CAFE\u0301", false},
		{"h/\ufb01le", true}, {"h/file", false},
	} {
		if got := m.take(c.name); got != c.want {
			t.Errorf("%q: %v", c.name, got)
		}
	}
}

// Whatever the names, the export writes no file outside the mirror, over an existing file, or through a link.
func TestPut(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	m := &mirror{root: root}
	if err := errors.Join(m.create("a/b", []byte("first")), m.create("a/b", []byte("second"))); err != nil || m.clashes != 1 {
		t.Errorf("%v, %d clashes", err, m.clashes)
	}
	if got := read(t, filepath.Join(dir, "a", "b")); got != "first" {
		t.Errorf("it was overwritten by the %s", got)
	}
	if err := errors.Join(os.Symlink(outside, filepath.Join(dir, "out")), os.Symlink(filepath.Join(outside, "new"), filepath.Join(dir, "new"))); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{"../evil", "out/evil", "out/sub/evil", "a/../../evil", "/evil"} {
		if err := m.create(name, []byte("x")); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	if err := m.create("new", []byte("x")); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("outside the mirror: %v, %v", left, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "..", "evil")); err == nil {
		t.Error("evil is above the mirror")
	}
}

// A chain of redirects has no result if it is circular or too long.
func TestFind(t *testing.T) {
	a, b, c := parsed(t, "http://a.example/a"), parsed(t, "http://a.example/b"), parsed(t, "http://a.example/c")
	m := &mirror{key: weburl.URL.Key, files: map[weburl.Key]file{c.Key(): {at: 7}}, moved: map[weburl.Key]weburl.Key{a.Key(): b.Key(), b.Key(): a.Key()}}
	if _, ok := m.find(a); ok {
		t.Error("a circle leads to a file")
	}
	m.moved[b.Key()] = c.Key()
	if f, ok := m.find(a); !ok || f.at != 7 {
		t.Error("two redirects lead nowhere")
	}
}
