package bench

import (
	"bufio"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
)

// childVar names the variable for the shape, as JSON, of the web that a process serves. bucketVar is set for a process that serves S3.
const (
	childVar  = "AMBLE_BENCH_SHAPE"
	bucketVar = "AMBLE_BENCH_BUCKET"
)

// TestMain runs a server instead of the tests if one of these variables is set.
func TestMain(m *testing.M) {
	spec := os.Getenv(childVar)
	var err error
	switch {
	case spec != "":
		err = child(spec)
	case os.Getenv(bucketVar) != "":
		err = serveBucket()
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// begun represents the first line that a server prints.
type begun struct {
	Hosts []string
	Roots []byte // certificates in PEM
}

// counted holds the number of connections that a server has accepted, and the number of those that resumed a TLS session.
type counted struct{ Connections, Resumed int64 }

// child serves until the end of its standard input, which comes when its parent closes it or dies.
func child(spec string) error {
	var s shape
	if err := json.Unmarshal([]byte(spec), &s); err != nil {
		return err
	}
	v, err := newServer(s)
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(begun{v.hosts, v.roots}); err != nil {
		return err
	}
	go func() {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); { // each line asks for the counters
			_ = out.Encode(counted{v.counts.Connections.Load(), v.counts.Resumed.Load()})
		}
		os.Exit(0) // also ends all connections
	}()
	v.serve()
	return errors.New("the server ended")
}

// web is a synthetic web that another process serves.
type web struct {
	shape
	hosts []string
	roots *x509.CertPool // nil without TLS
	ask   func() counted
}

// startWeb starts a process that serves a web and waits until it is ready. The process ends with the test. The test is skipped if loopback
// has too few addresses.
func startWeb(tb testing.TB, s shape) *web {
	tb.Helper()
	spec, _ := json.Marshal(s) // cannot fail: s has only numbers and flags
	in, out := startChild(tb, childVar+"="+string(spec))
	var first begun
	answers := json.NewDecoder(out)
	if err := answers.Decode(&first); err != nil {
		tb.Skip("the server did not start: 127.1.0.0/16 must be loopback")
	}
	w := &web{shape: s, hosts: first.Hosts}
	if s.TLS {
		w.roots = x509.NewCertPool()
		w.roots.AppendCertsFromPEM(first.Roots)
	}
	w.ask = func() (n counted) {
		if _, err := io.WriteString(in, "\n"); err != nil {
			tb.Fatal(err)
		}
		if err := answers.Decode(&n); err != nil {
			tb.Fatal(err)
		}
		return n
	}
	return w
}

// startChild starts this test binary with a variable that makes it a server. The end of the test closes its standard input, and so ends it.
func startChild(tb testing.TB, variable string) (in io.Writer, out io.Reader) {
	tb.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), variable), os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	return stdin, stdout
}

// seeds returns the URL of the first page of each host.
func (w *web) seeds() []string { return shape{Pages: 1, TLS: w.TLS}.urls(w.hosts) }
