package fetcher

import (
	"testing"
	"testing/synctest"
)

// A connection that is returned after the Fetcher was closed is closed too, and no timer waits for it.
func TestConnectionThatComesBackAfterCloseIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newPipes(keepAlive("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
		r := n.rig(t, Config{})
		p := r.page("http://a.test/")
		c := r.f.pool.get(connKey{"http", p.URL.Host(), p.Addr})
		r.f.Close()
		synctest.Wait()
		if n.open() != 1 {
			t.Fatalf("%d connections while one is in use", n.open())
		}
		c.client.Release()
		r.f.pool.put(c)
		synctest.Wait()
		if n.open() != 0 || len(r.f.pool.idle) != 0 || r.f.pool.order.Len() != 0 {
			t.Errorf("%d connections are open, %d kept", n.open(), r.f.pool.order.Len())
		}
	})
}
