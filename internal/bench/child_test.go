package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
)

// childVar holds, in the process that serves, the shape of the web as JSON.
const childVar = "AMBLE_BENCH_SHAPE"

// TestMain turns this test binary into the server when the variable is set.
func TestMain(m *testing.M) {
	spec := os.Getenv(childVar)
	if spec == "" {
		os.Exit(m.Run())
	}
	if err := child(spec); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

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
	if err := json.NewEncoder(os.Stdout).Encode(v.hosts); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0) // ends the connections
	}()
	v.serve()
	return errors.New("the server ended")
}

// web is a synthetic web that another process serves.
type web struct {
	shape
	hosts []string
}

// startWeb starts the process and waits until it serves; it ends with the test. The test is skipped where the
// many addresses of loopback cannot be bound.
func startWeb(tb testing.TB, s shape) *web {
	tb.Helper()
	spec, _ := json.Marshal(s) // only numbers
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVar+"="+string(spec))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	w := &web{shape: s}
	if err := json.NewDecoder(out).Decode(&w.hosts); err != nil {
		tb.Skip("the server did not start: 127.1.0.0/16 must be loopback")
	}
	return w
}

// seeds returns the first pages of all hosts.
func (w *web) seeds() []string { return shape{Pages: 1}.urls(w.hosts) }
