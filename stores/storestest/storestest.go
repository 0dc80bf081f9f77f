// Package storestest is the conformance suite for implementations of [stores.Store]. It also runs an S3 server for tests.
package storestest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/amble-crawler/amble/stores"
)

// Run tests a store. open must return an empty one for each test.
func Run(t *testing.T, open func(t *testing.T) stores.Store) {
	for _, c := range []struct {
		name string
		f    func(*kit)
	}{
		{"put, then stat, list and get", whole},
		{"parts", parts},
		{"a second object under a name replaces the first", replaces},
		{"an object is removed", removes},
		{"other content than said is not stored", differs},
		{"names are checked", names},
		{"what is listed begins with the prefix", prefixes},
		{"calls are concurrent", concurrent},
		{"a context that has ended ends a call", ended},
	} {
		t.Run(c.name, func(t *testing.T) { c.f(&kit{t, context.Background(), open(t)}) })
	}
}

// MakeBucket makes the bucket "crawls" in an S3 server unless it exists.
func MakeBucket(server http.Handler) {
	server.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(context.Background(), http.MethodPut, "/crawls", nil))
}

// ServeS3 serves an S3 server with the bucket "crawls", and configures package stores/s3 for it, until the test ends. If around is not
// nil, it handles each request, with the server as an argument.
func ServeS3(tb testing.TB, server http.Handler, around func(server http.Handler, w http.ResponseWriter, r *http.Request)) {
	tb.Helper()
	MakeBucket(server)
	if around == nil {
		around = http.Handler.ServeHTTP
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { around(server, w, r) }))
	tb.Cleanup(s.Close)
	UseS3(tb, s.URL)
}

// UseS3 sets the variables that configure package stores/s3 for the server at a URL, without files, until the test ends.
func UseS3(tb testing.TB, url string) {
	tb.Helper()
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": url, "AWS_ENDPOINT_URL_S3": "", "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
		"AWS_CONFIG_FILE": "/none", "AWS_SHARED_CREDENTIALS_FILE": "/none", "AWS_PROFILE": "",
	} {
		tb.Setenv(name, value)
	}
}

type kit struct {
	*testing.T
	ctx context.Context
	s   stores.Store
}

// Of returns the description of content as an object.
func Of(name string, content []byte) stores.Object {
	return stores.Object{Name: name, Size: int64(len(content)), SHA256: sha256.Sum256(content)}
}

func (k *kit) put(name, content string) stores.Object {
	k.Helper()
	o := Of(name, []byte(content))
	if err := k.s.Put(k.ctx, o, strings.NewReader(content)); err != nil {
		k.Fatalf("Put %s: %v", name, err)
	}
	return o
}

func (k *kit) get(name string, from, length int64) (string, error) {
	r, err := k.s.Get(k.ctx, name, from, length)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(r)
	return string(b), errors.Join(err, r.Close())
}

func (k *kit) want(name, content string) {
	k.Helper()
	if got, err := k.get(name, 0, -1); err != nil || got != content {
		k.Errorf("Get %s: %d bytes %.40q, %v, want %d bytes", name, len(got), got, err, len(content))
	}
	if o, err := k.s.Stat(k.ctx, name); err != nil || o != Of(name, []byte(content)) {
		k.Errorf("Stat %s: %+v, %v", name, o, err)
	}
}

func (k *kit) wantNone(name string) {
	k.Helper()
	_, err := k.s.Stat(k.ctx, name)
	_, errGet := k.get(name, 0, -1)
	_, errPart := k.get(name, 0, 1)
	for _, err := range []error{err, errGet, errPart} {
		if !errors.Is(err, fs.ErrNotExist) {
			k.Errorf("%s: %v, want fs.ErrNotExist", name, err)
		}
	}
}

func (k *kit) list(prefix string) (names []string) {
	k.Helper()
	for o, err := range k.s.List(k.ctx, prefix) {
		if err != nil {
			k.Fatalf("List %q: %v", prefix, err)
		}
		names = append(names, fmt.Sprintf("%s %d", o.Name, o.Size))
	}
	slices.Sort(names)
	return names
}

func (k *kit) wantList(prefix string, want ...string) {
	k.Helper()
	if got := k.list(prefix); !slices.Equal(got, want) {
		k.Errorf("List %q: %q, want %q", prefix, got, want)
	}
}

func whole(k *kit) {
	long := strings.Repeat("0123456789", 1<<18)
	k.wantList("")
	k.put("empty", "")
	k.put("dir/of/Some name+%&ü.txt", "text")
	k.put("long", long)
	k.want("empty", "")
	k.want("dir/of/Some name+%&ü.txt", "text")
	k.want("long", long)
	k.wantList("", "dir/of/Some name+%&ü.txt 4", "empty 0", fmt.Sprintf("long %d", len(long)))
	body := strings.NewReader("content")
	if _, err := io.ReadAll(body); err != nil { // read to its end: Put must start at the beginning
		k.Fatal(err)
	}
	if err := k.s.Put(k.ctx, Of("read before", []byte("content")), body); err != nil {
		k.Errorf("Put of a body that was read: %v", err)
	}
	k.want("read before", "content")
}

func parts(k *kit) {
	k.put("o", "0123456789")
	for _, c := range []struct {
		from, length int64
		want         string
	}{{0, -1, "0123456789"}, {0, 10, "0123456789"}, {0, 3, "012"}, {7, 3, "789"}, {7, -1, "789"}, {4, 1, "4"}, {4, 0, ""}, {10, 0, ""}, {10, -1, ""}} {
		if got, err := k.get("o", c.from, c.length); got != c.want || err != nil {
			k.Errorf("%d bytes from %d: %q, %v, want %q", c.length, c.from, got, err, c.want)
		}
	}
	for _, c := range []struct{ from, length int64 }{{8, 3}, {0, 11}, {10, 1}, {11, -1}, {100, 1}} {
		if got, err := k.get("o", c.from, c.length); !errors.Is(err, io.ErrUnexpectedEOF) {
			k.Errorf("%d bytes from %d: %q, %v, want io.ErrUnexpectedEOF", c.length, c.from, got, err)
		}
	}
}

func replaces(k *kit) {
	k.put("o", "first, and long")
	k.put("o", "second")
	k.want("o", "second")
	k.put("o", "second")
	k.want("o", "second")
	k.wantList("", "o 6")
}

func removes(k *kit) {
	k.wantNone("dir/o")
	k.put("dir/o", "content")
	for range 2 {
		if err := k.s.Delete(k.ctx, "dir/o"); err != nil {
			k.Errorf("Delete: %v", err)
		}
	}
	k.wantNone("dir/o")
	k.wantList("")
	k.put("dir/o", "again")
	k.want("dir/o", "again")
}

func differs(k *kit) {
	k.put("o", "before")
	for _, c := range []struct {
		said stores.Object
		body string
	}{
		{Of("o", []byte("content")), "Content"},
		{Of("o", []byte("content")), "conten"},
		{Of("o", []byte("content")), "content and more"},
		{Of("o", []byte("content")), ""},
		{stores.Object{Name: "o", Size: 7}, "content"},
	} {
		if err := k.s.Put(k.ctx, c.said, strings.NewReader(c.body)); !errors.Is(err, stores.ErrDiffers) {
			k.Errorf("Put of %q as %+v: %v, want ErrDiffers", c.body, c.said, err)
		}
	}
	k.want("o", "before")
	k.wantList("", "o 6")
}

func names(k *kit) {
	for _, name := range []string{"", ".", "/", "/o", "o/", "a//b", "../o", "a/../../o", "a/./b", strings.Repeat("x", 901)} {
		errs := []error{k.s.Put(k.ctx, Of(name, nil), bytes.NewReader(nil)), k.s.Delete(k.ctx, name)}
		_, err := k.s.Stat(k.ctx, name)
		_, errGet := k.get(name, 0, -1)
		for i, err := range append(errs, err, errGet) {
			if !errors.Is(err, fs.ErrInvalid) {
				k.Errorf("call %d with %.20q: %v, want fs.ErrInvalid", i, name, err)
			}
		}
	}
}

func prefixes(k *kit) {
	for _, name := range []string{"a/1", "a/2", "ab/3", "a", "b/a/4"} {
		if name != "a" { // the Dir store cannot have a file and a directory of the same name
			k.put(name, name)
		}
	}
	k.wantList("a", "a/1 3", "a/2 3", "ab/3 4")
	k.wantList("a/", "a/1 3", "a/2 3")
	k.wantList("b/a/4", "b/a/4 5")
	k.wantList("c")
	for _, err := range k.s.List(k.ctx, "a") { // ends early
		if err != nil {
			k.Error(err)
		}
		break
	}
}

func concurrent(k *kit) {
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			k.put("same", "the same of all")
			k.put(fmt.Sprintf("of/%d", i), "content")
			k.want("same", "the same of all")
		})
	}
	wg.Wait()
	if n := len(k.list("of/")); n != 8 {
		k.Errorf("%d objects, want 8", n)
	}
}

func ended(k *kit) {
	o := k.put("o", "content")
	ctx, cancel := context.WithCancel(k.ctx)
	cancel()
	_, errStat := k.s.Stat(ctx, "o")
	_, errGet := k.s.Get(ctx, "o", 0, -1)
	var errList error
	for _, err := range k.s.List(ctx, "") {
		errList = err
	}
	for i, err := range []error{k.s.Put(ctx, o, strings.NewReader("content")), k.s.Delete(ctx, "o"), errStat, errGet, errList} {
		if !errors.Is(err, context.Canceled) {
			k.Errorf("call %d: %v, want context.Canceled", i, err)
		}
	}
	k.want("o", "content")
}
