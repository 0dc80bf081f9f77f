package nats

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/amble-crawler/amble/cluster"
)

// If a connection breaks without any signal, the client gives it up and connects to another server.
func TestSilentConnectionIsGivenUp(t *testing.T) {
	t.Parallel()
	s := start(t, 1)
	c := Config{URLs: s.urls(), Job: "job", Shards: 2, Replicas: 1}
	create(t, c)
	first, cut := silenced(t, strings.TrimPrefix(s.urls(), "nats://"))
	c.URLs, c.ping = "nats://"+first+","+s.urls(), 500*time.Millisecond // the client drops a server after three unanswered pings
	c.Options = []nats.Option{nats.DontRandomize()}
	e := connect(t, c)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // ends the test if no record is ever stored
	defer cancel()
	answered := func(shard int, nonce cluster.Nonce) {
		t.Helper()
		for most := 200 * time.Millisecond; ; most *= 2 { // an answer may be late once, but not every time
			short, done := context.WithTimeout(ctx, most)
			_, err := e.Append(short, shard, nonce, []byte("record"), 0)
			if done(); err == nil {
				return
			}
			if pause(ctx, 20*time.Millisecond) != nil {
				t.Fatal(err)
			}
		}
	}
	answered(0, cluster.Nonce{1})
	cut()
	answered(1, cluster.Nonce{2})
}

// silenced forwards connections to a server. After cut has been called, nothing arrives in either direction.
func silenced(t *testing.T, server string) (addr string, cut func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	var silent atomic.Bool
	pass := func(to, from net.Conn) {
		b := make([]byte, 32<<10)
		for {
			n, err := from.Read(b)
			if err != nil {
				_ = to.Close()
				return
			}
			if !silent.Load() {
				_, _ = to.Write(b[:n])
			}
		}
	}
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", server)
			if err != nil {
				_ = in.Close()
				continue
			}
			t.Cleanup(func() { _, _ = in.Close(), out.Close() })
			go pass(out, in)
			go pass(in, out)
		}
	}()
	return l.Addr().String(), func() { silent.Store(true) }
}
