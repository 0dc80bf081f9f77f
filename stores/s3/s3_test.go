package s3_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/amble-crawler/amble/stores"
	"github.com/amble-crawler/amble/stores/s3"
	"github.com/amble-crawler/amble/stores/storestest"
)

// serve starts a server with the bucket "crawls". If around is not nil, it handles the requests, and may pass them to the server.
func serve(t *testing.T, around func(http.Handler, http.ResponseWriter, *http.Request)) {
	t.Helper()
	storestest.ServeS3(t, gofakes3.New(s3mem.New()).Server(), around)
}

func open(t *testing.T, url string) *s3.Store {
	t.Helper()
	s, err := s3.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(s *s3.Store, name, content string) error {
	return s.Put(context.Background(), storestest.Of(name, []byte(content)), strings.NewReader(content))
}

func TestBucketIsStore(t *testing.T) {
	storestest.Run(t, func(t *testing.T) stores.Store { serve(t, nil); return open(t, "s3://crawls") })
}

func TestPrefixIsStore(t *testing.T) {
	storestest.Run(t, func(t *testing.T) stores.Store {
		serve(t, nil)
		other := open(t, "s3://crawls/of/ours2")
		if err := put(other, "not listed", "x"); err != nil {
			t.Fatal(err)
		}
		return open(t, "s3://crawls/of/ours/")
	})
}

// failing makes one request in five fail, with temporary errors of all kinds. The same request fails at most twice, which is less than the
// number of tries of a store: otherwise a concurrent request could be the fifth at each of its tries.
func failing() func(http.Handler, http.ResponseWriter, *http.Request) {
	var mu sync.Mutex
	var n int
	failed := map[string]int{} // number of failures by method and URL
	return func(h http.Handler, w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		n++
		i, call := n, r.Method+" "+r.URL.String()
		fails := i%5 == 0 && failed[call] < 2
		if fails {
			failed[call]++
		}
		mu.Unlock()
		if !fails {
			h.ServeHTTP(w, r)
			return
		}
		switch i / 5 % 4 {
		case 0:
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, "<Error><Code>SlowDown</Code></Error>")
		case 1:
			w.WriteHeader(http.StatusInternalServerError)
		case 2: // the connection breaks while the server receives the request
			_, _ = io.CopyN(io.Discard, r.Body, 3)
			panic(http.ErrAbortHandler)
		case 3: // the connection breaks during the response
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, r)
			panic(http.ErrAbortHandler)
		}
	}
}

func TestStoreThatFailsEachFifthTimeIsStore(t *testing.T) {
	storestest.Run(t, func(t *testing.T) stores.Store { serve(t, failing()); return open(t, "s3://crawls/p") })
}

func TestErrorSaysWhetherItMayPass(t *testing.T) {
	status, code := 0, ""
	serve(t, func(h http.Handler, w http.ResponseWriter, r *http.Request) {
		if status == 0 {
			h.ServeHTTP(w, r)
			return
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "<Error><Code>"+code+"</Code></Error>")
	})
	s := open(t, "s3://crawls")
	for _, c := range []struct {
		status int
		code   string
		away   bool
		text   string
	}{
		{503, "SlowDown", true, ""},
		{500, "InternalError", true, ""},
		{502, "", true, ""},
		{400, "BadDigest", true, ""},
		{400, "IncompleteBody", true, ""},
		{403, "AccessDenied", false, "s3:PutObject"},
		{403, "InvalidAccessKeyId", false, "AWS_ACCESS_KEY_ID"},
		{403, "RequestTimeTooSkewed", false, "clock"},
		{404, "NoSuchBucket", false, "make the bucket first"},
	} {
		status, code = c.status, c.code
		err := put(s, "o", "content")
		if err == nil || errors.Is(err, stores.ErrAway) != c.away || !strings.Contains(err.Error(), c.text) || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%d %s: %v", c.status, c.code, err)
		}
	}
}

func TestMissingServerIsUnreachable(t *testing.T) {
	serve(t, nil)
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
	if _, err := open(t, "s3://crawls").Stat(t.Context(), "o"); !errors.Is(err, stores.ErrAway) {
		t.Errorf("%v, want ErrAway", err)
	}
}

func TestTruncatedUploadIsNoObject(t *testing.T) {
	cut := true
	serve(t, func(h http.Handler, w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && cut { // acts like a proxy that loses the end of the body without an error
			r.Body = io.NopCloser(io.LimitReader(r.Body, 3))
			r.Header.Set("Content-Length", "3")
			r.ContentLength = 3
		}
		h.ServeHTTP(w, r)
	})
	s := open(t, "s3://crawls")
	if err := put(s, "o", "content"); !errors.Is(err, stores.ErrAway) {
		t.Errorf("%v, want ErrAway", err)
	}
	cut = false
	if err := put(s, "o", "content"); err != nil {
		t.Error(err)
	}
}

// TestLostUploadIsSeen checks that an upload fails if the server claims to have stored an object but has not.
func TestLostUploadIsSeen(t *testing.T) {
	serve(t, func(h http.Handler, w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			_, _ = io.Copy(io.Discard, r.Body)
			return
		}
		h.ServeHTTP(w, r)
	})
	if err := put(open(t, "s3://crawls"), "o", "content"); err == nil {
		t.Error("no error")
	}
}

func TestTruncatedAnswerIsError(t *testing.T) {
	short := false
	serve(t, func(h http.Handler, w http.ResponseWriter, r *http.Request) {
		if !short {
			h.ServeHTTP(w, r)
			return
		}
		w.Header().Set("ETag", `"x"`)
		w.Header().Set("Last-Modified", time.Unix(0, 0).UTC().Format(http.TimeFormat))
		w.Header().Set("Content-Length", "7")
		w.WriteHeader(http.StatusPartialContent)
		_, _ = io.WriteString(w, "con")
	})
	s := open(t, "s3://crawls")
	if err := put(s, "o", "content"); err != nil {
		t.Fatal(err)
	}
	short = true
	r, err := s.Get(t.Context(), "o", 0, 7)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if b, err := io.ReadAll(r); err == nil || !errors.Is(err, stores.ErrAway) {
		t.Errorf("%q, %v, want an error", b, err)
	}
}

func TestMissingBucketIsNoMissingObject(t *testing.T) {
	serve(t, nil)
	if err := put(open(t, "s3://other"), "o", "content"); err == nil || errors.Is(err, stores.ErrAway) || !strings.Contains(err.Error(), "make the bucket first") {
		t.Errorf("%v", err)
	}
}

func TestOpenRefusesInvalidBucket(t *testing.T) {
	serve(t, nil)
	for _, url := range []string{"", "s3:", "s3://", "s3:///prefix", "https://crawls/", "s3://key:secret@crawls/", "s3://crawls/?region=x", "s3://crawls/a/../b", "s3://crawls/#x"} {
		if s, err := s3.Open(url); err == nil {
			t.Errorf("%q: %v, want an error", url, s.URL(""))
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error has the secret: %v", url, err)
		}
	}
	t.Setenv("AWS_ENDPOINT_URL", "s3.example.net")
	if _, err := s3.Open("s3://crawls"); err == nil || !strings.Contains(err.Error(), "AWS_ENDPOINT_URL") {
		t.Errorf("%v", err)
	}
}

func TestProfileSaysWhereServerIs(t *testing.T) {
	var auth atomic.Value
	serve(t, func(h http.Handler, w http.ResponseWriter, r *http.Request) {
		auth.Store(r.Header.Get("Authorization"))
		h.ServeHTTP(w, r)
	})
	url := os.Getenv("AWS_ENDPOINT_URL")
	dir := t.TempDir()
	write(t, dir+"/config", "[profile archive]\nregion = eu-west-3\nendpoint_url = "+url+"\n")
	write(t, dir+"/credentials", "[archive]\naws_access_key_id = filekey\naws_secret_access_key = filesecret\n")
	for name, value := range map[string]string{
		"AWS_CONFIG_FILE": dir + "/config", "AWS_SHARED_CREDENTIALS_FILE": dir + "/credentials", "AWS_PROFILE": "archive",
		"AWS_ENDPOINT_URL": "", "AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_ACCESS_KEY": "", "AWS_SECRET_KEY": "",
	} {
		t.Setenv(name, value)
	}
	if err := put(open(t, "s3://crawls"), "o", "content"); err != nil {
		t.Fatal(err)
	}
	if got, _ := auth.Load().(string); !strings.Contains(got, "Credential=filekey/") || !strings.Contains(got, "/eu-west-3/s3/") {
		t.Errorf("Authorization: %s", got)
	}
}

func write(t *testing.T, path, text string) {
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
