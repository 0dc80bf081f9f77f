package browsertest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// conn is a connection to a browser by the DevTools protocol, over pipes.
type conn struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	read sync.WaitGroup

	mu      sync.Mutex
	changed *sync.Cond
	id      int
	answers map[int]message
	events  []event
	ended   bool
}

// message is a reply, which has an ID, or an event.
type message struct {
	ID     int             `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
	event
}

type event struct {
	SessionID string          `json:"sessionId"`
	Method    string          `json:"method"`
	Params    json.RawMessage `json:"params"`
}

// launch starts a browser with its files in dir.
func launch(path, dir string) (*conn, error) {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c := &conn{in: in, answers: map[int]message{}}
	c.changed = sync.NewCond(&c.mu)
	c.cmd = exec.CommandContext(context.Background(), path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--force-color-profile=srgb",
		"--remote-debugging-pipe", "--user-data-dir="+filepath.Join(dir, "profile"))
	// Its processes have a pipe as standard error, so that Wait waits until the last of them has ended: until then they write to dir.
	c.cmd.Stderr, c.cmd.WaitDelay = io.Discard, patience
	c.cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	c.cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_CACHE_HOME="+dir)
	err = c.cmd.Start()
	_, _ = theirIn.Close(), theirOut.Close() // the browser has copies
	if err != nil {
		return nil, err
	}
	c.read.Go(func() { c.receive(out) })
	if _, err := c.call("", "Browser.getVersion", nil, patience); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// close ends the browser and waits for all its processes.
func (c *conn) close() {
	_, _ = c.call("", "Browser.close", nil, 5*time.Second) // if the call fails, the browser is killed
	_ = c.in.Close()
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
	c.read.Wait()
}

// receive reads messages until the browser ends.
func (c *conn) receive(out *os.File) {
	defer func() { _ = out.Close() }() // nothing was written
	r := bufio.NewReader(out)
	for {
		b, err := r.ReadBytes(0)
		var m message
		if err == nil {
			err = json.Unmarshal(bytes.TrimSuffix(b, []byte{0}), &m)
		}
		c.mu.Lock()
		switch {
		case err != nil:
			c.ended = true
		case m.ID != 0:
			c.answers[m.ID] = m
		default:
			c.events = append(c.events, m.event)
		}
		c.changed.Broadcast()
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// call sends a command and returns its reply.
func (c *conn) call(session, method string, params map[string]any, patience time.Duration) (json.RawMessage, error) {
	c.mu.Lock()
	c.id++
	id := c.id
	c.mu.Unlock()
	command := map[string]any{"id": id, "method": method}
	if params != nil {
		command["params"] = params
	}
	if session != "" {
		command["sessionId"] = session
	}
	b, err := json.Marshal(command)
	if err == nil {
		_, err = c.in.Write(append(b, 0))
	}
	if err != nil {
		return nil, err
	}
	if !c.await(func() bool { _, ok := c.answers[id]; return ok }, patience) {
		return nil, errors.New("no answer")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.answers[id]
	delete(c.answers, id)
	if m.Error != nil {
		return nil, errors.New(m.Error.Message)
	}
	return m.Result, nil
}

// await waits until ok returns true. ok is called with the lock held.
func (c *conn) await(ok func() bool, patience time.Duration) bool {
	late := false
	timer := time.AfterFunc(patience, func() {
		c.mu.Lock()
		late = true
		c.changed.Broadcast()
		c.mu.Unlock()
	})
	defer timer.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for !ok() {
		if late || c.ended {
			return false
		}
		c.changed.Wait()
	}
	return true
}

// loaded reports whether a session has loaded the page of a navigation. The lock is held. The initial empty page of the session may also
// have been loading.
func (c *conn) loaded(session, loader string) bool {
	if loader == "" { // a navigation within the same page
		return true
	}
	for i := range c.events {
		e := &c.events[i]
		var life struct{ LoaderID, Name string }
		if e.SessionID == session && e.Method == "Page.lifecycleEvent" && json.Unmarshal(e.Params, &life) == nil && life.LoaderID == loader && life.Name == "load" {
			return true
		}
	}
	return false
}

// loads returns the number of pages that a session has loaded. The lock is held.
func (c *conn) loads(session string) (n int) {
	for i := range c.events {
		e := &c.events[i]
		var life struct{ Name string }
		if e.SessionID == session && e.Method == "Page.lifecycleEvent" && json.Unmarshal(e.Params, &life) == nil && life.Name == "load" {
			n++
		}
	}
	return n
}

// of returns the parameters of all events of a session that have this method.
func (c *conn) of(session, method string) (all []json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.events {
		if c.events[i].SessionID == session && c.events[i].Method == method {
			all = append(all, c.events[i].Params)
		}
	}
	return all
}

func (c *conn) console(session string) (lines []string) {
	for _, method := range [...]string{"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"} {
		for _, params := range c.of(session, method) {
			lines = append(lines, fmt.Sprintf("%s %s", method, params))
		}
	}
	return lines
}

func (c *conn) requests(session string) (urls []string) {
	for _, params := range c.of(session, "Network.requestWillBeSent") {
		var sent struct{ Request struct{ URL string } }
		if json.Unmarshal(params, &sent) == nil {
			urls = append(urls, sent.Request.URL)
		}
	}
	return urls
}
