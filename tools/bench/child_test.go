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

// childVar holds the shape of the web as JSON in the process that serves it; bucketVar is set in the process that is an S3 server.
const (
	childVar  = "AMBLE_BENCH_SHAPE"
	bucketVar = "AMBLE_BENCH_BUCKET"
)

// TestMain turns this test binary into a server when one of the variables is set.
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

// begun is the first line of a server.
type begun struct {
	Hosts []string
	Roots []byte // in PEM
}

// counted holds the number of connections that a server has accepted, and how many of them resumed a TLS session.
type counted struct{ Connections, Resumed int64 }

// child serves until its standard input ends, which it does when the parent closes it or dies.
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
		for in := bufio.NewScanner(os.Stdin); in.Scan(); { // each line is a question
			_ = out.Encode(counted{v.counts.Connections.Load(), v.counts.Resumed.Load()})
		}
		os.Exit(0) // ends the connections
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

// startWeb starts the process and waits until it serves; it ends with the test. The test is skipped if loopback does not have enough
// addresses.
func startWeb(tb testing.TB, s shape) *web {
	tb.Helper()
	spec, _ := json.Marshal(s) // cannot fail: it has only numbers
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

// startChild starts this test binary with a variable that makes it a server. It ends with the test, by the end of its standard input.
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

// seeds returns the first pages of all hosts.
func (w *web) seeds() []string { return shape{Pages: 1, TLS: w.TLS}.urls(w.hosts) }
