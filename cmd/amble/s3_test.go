package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3bolt"
)

// s3Server is the command "s3server ADDRESS FILE FAILURES": a server with the bucket "crawls", whose objects are in a file and survive the
// end of the process. Of 100 requests so many fail: they are refused, cut off while they are received or answered, or slow.
func s3Server() {
	var failures int
	_, err := fmt.Sscan(os.Args[3], &failures)
	orDie(err)
	backend, err := s3bolt.NewFile(os.Args[2])
	orDie(err)
	h := gofakes3.New(backend).Server()
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPut, "/crawls", nil)) // it may be there
	l, err := net.Listen("tcp", os.Args[1])
	orDie(err)
	orDie(http.Serve(l, &failing{next: h, percent: failures, rng: rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))})) //nolint:gosec // a test
}

func orDie(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type failing struct {
	next    http.Handler
	percent int

	mu  sync.Mutex
	rng *rand.Rand
}

func (f *failing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	how := -1
	if f.rng.IntN(100) < f.percent {
		how = f.rng.IntN(5)
	}
	f.mu.Unlock()
	switch how {
	case 0:
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "<Error><Code>SlowDown</Code></Error>")
		return
	case 1:
		w.WriteHeader(http.StatusInternalServerError)
		return
	case 2: // cut while it is received
		_, _ = io.CopyN(io.Discard, r.Body, 100)
		panic(http.ErrAbortHandler)
	case 3: // stored, and cut while it is answered
		f.next.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case 4: // a proxy loses the end, and says nothing
		if r.Method == http.MethodPut && r.ContentLength > 10 {
			r.ContentLength /= 2
			r.Header.Set("Content-Length", fmt.Sprint(r.ContentLength))
			b, _ := io.ReadAll(io.LimitReader(r.Body, r.ContentLength))
			r.Body = io.NopCloser(strings.NewReader(string(b)))
		}
		time.Sleep(20 * time.Millisecond)
	}
	f.next.ServeHTTP(w, r)
}
