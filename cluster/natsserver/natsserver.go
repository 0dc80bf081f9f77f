// Package natsserver runs a nats-server with JetStream in this process, as package cluster/nats needs it: each write is synced
// before it is acknowledged. It is a separate package because of its size: a sixth of the command amble (9 of 52 MB).
//
//	server, err := natsserver.Start(natsserver.Config{Name: "s1", Dir: "engine", Listen: "127.0.0.1:0"})
//	defer server.Close()
//	engine, err := nats.Connect(ctx, nats.Config{URLs: server.URL(), Job: "shops", Shards: 64})
package natsserver

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Config is how a server is set up.
type Config struct {
	Name string // of the server: each has its own
	Dir  string // where it stores everything
	// Listen is the address for clients, as host:port. Port 0: any that is free.
	Listen string
	// RoutesListen is the address for the other servers, and Routes are theirs, this one's among them or not. Without both, the
	// server is the only one.
	RoutesListen string
	Routes       []string

	User, Password string // of clients and of other servers; "": none is needed
	Token          string // instead of both
	// TLS is for connections with clients and with other servers, which have to show certificates if it has ClientCAs. nil:
	// they are in clear text.
	TLS *tls.Config
	// Log is called with what the server has to say. nil: nothing is.
	Log func(text string)
}

// Server is a server that runs. It is safe for concurrent use.
type Server struct {
	c   Config // with the port that was free
	mu  sync.Mutex
	s   *server.Server // Heal makes another one
	low bool           // there was no room on the disk, and what was written then may have failed for good

	closed bool
}

// startTime limits the time that a server may take to start.
const startTime = 30 * time.Second

// Start starts a server. It listens when Start returns; other servers may not be there yet.
func Start(c Config) (*Server, error) {
	if _, err := c.options(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, err
	}
	s, err := c.start()
	if err != nil {
		return nil, err
	}
	if a, ok := s.Addr().(*net.TCPAddr); ok {
		host, _, _ := net.SplitHostPort(c.Listen)
		c.Listen = net.JoinHostPort(host, strconv.Itoa(a.Port))
	}
	return &Server{c: c, s: s}, nil
}

func (c Config) start() (*server.Server, error) {
	o, err := c.options()
	if err != nil {
		return nil, err
	}
	s, err := server.NewServer(o)
	if err != nil {
		return nil, fmt.Errorf("the server: %w", err)
	}
	if c.Log != nil {
		s.SetLoggerV2(logger(c.Log), false, false, false)
	}
	s.Start()
	if !s.ReadyForConnections(startTime) {
		s.Shutdown()
		return nil, fmt.Errorf("the server does not listen on %s after %v: is another one using the address, or %s?", c.Listen, startTime, c.Dir)
	}
	return s, nil
}

// leastRoom is the smallest gain, in bytes, for which a server is started again; records have less.
const leastRoom = 1 << 20

// Heal starts the server again, at the same address and with what it has stored, if it stores nothing for lack of room and there is
// room again: a server computes its limit when it starts, and stops storing for good when its disk is full. It reports whether it
// did. Call it from time to time. Where the room on a disk is unknown (Windows) it does nothing.
func (s *Server) Heal() (healed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	room, known := roomOn(s.c.Dir)
	s.low = s.low || known && room < leastRoom
	if s.closed || !known || room < 4*leastRoom || !s.full(room) {
		return false, nil
	}
	s.s.Shutdown()
	s.s.WaitForShutdown()
	again, err := s.c.start()
	if err != nil {
		return false, err
	}
	s.s, s.low = again, false
	return true, nil
}

// full reports whether the server stores nothing, and one that is started with that much room would.
func (s *Server) full(room int64) bool {
	if s.low || !s.s.JetStreamEnabled() {
		return true
	}
	is, err := s.s.Jsz(nil)
	if err != nil {
		return false
	}
	used, limit := int64(is.Store), is.Config.MaxStore
	next := (room + used) / 4 * 3 // the limit that JetStream computes when it starts
	return used+leastRoom >= limit && next >= limit+leastRoom
}

// State is how a server is.
type State struct {
	// Ready says why the server cannot be used: it is starting, has lost the other servers, or has no room. nil: it can.
	Ready                    error
	Stored, Limit            int64 // bytes; Limit is a share of what was free when the server started
	Streams, Clients, Routes int
	Received, Sent           int64 // messages, since the server was started
}

// State returns how the server is.
func (s *Server) State() State {
	s.mu.Lock()
	n := s.s
	s.mu.Unlock()
	var x State
	if v, err := n.Varz(nil); err == nil {
		x.Clients, x.Routes, x.Received, x.Sent = v.Connections, v.Routes, v.InMsgs, v.OutMsgs
	}
	js, err := n.Jsz(nil)
	if err != nil || !n.JetStreamEnabled() {
		x.Ready = errors.New("the server stores nothing: JetStream does not run")
		return x
	}
	x.Stored, x.Limit, x.Streams = int64(js.Store), js.Config.MaxStore, js.Streams
	switch {
	case n.JetStreamIsClustered() && !n.JetStreamIsCurrent():
		x.Ready = errors.New("the server has not caught up with the others, or a majority of them is away")
	case x.Limit > 0 && x.Stored+leastRoom >= x.Limit:
		x.Ready = errors.New("the server stores nothing: there is no room on its disk")
	}
	return x
}

func (c *Config) options() (*server.Options, error) {
	if c.Name == "" || c.Dir == "" {
		return nil, errors.New("a server needs a name and a directory")
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, err
	}
	o := &server.Options{
		ServerName: c.Name, JetStream: true, StoreDir: dir, SyncAlways: true, NoSigs: true, NoLog: c.Log == nil,
		Username: c.User, Password: c.Password, Authorization: c.Token, TLSConfig: c.TLS,
	}
	if o.TLSConfig != nil {
		o.TLS, o.TLSVerify, o.TLSTimeout = true, c.TLS.ClientCAs != nil, 5
		if o.TLSVerify { // which the server sets by itself only for files that it reads
			c.TLS = c.TLS.Clone()
			c.TLS.ClientAuth = tls.RequireAndVerifyClientCert
			o.TLSConfig = c.TLS
		}
	}
	if o.Host, o.Port, err = address("listen", c.Listen); err != nil {
		return nil, err
	}
	if o.Port == 0 {
		o.Port = server.RANDOM_PORT
	}
	if c.RoutesListen == "" && len(c.Routes) == 0 {
		return o, nil
	}
	return o, c.routes(o)
}

// routes makes the server one of several.
func (c *Config) routes(o *server.Options) error {
	if c.RoutesListen == "" || len(c.Routes) == 0 {
		return errors.New("routes-listen and routes belong together: the address at which the others reach this server, and theirs")
	}
	host, port, err := address("routes-listen", c.RoutesListen)
	if err != nil {
		return err
	}
	o.Cluster = server.ClusterOpts{
		Name: "amble", Host: host, Port: port, NoAdvertise: true, Username: c.User, Password: c.Password, TLSConfig: c.TLS, TLSTimeout: 5,
	}
	if c.Token != "" {
		o.Cluster.Username, o.Cluster.Password = "token", c.Token
	}
	for _, r := range c.Routes {
		u, err := route(r)
		if err != nil {
			return err
		}
		if o.Cluster.Username != "" {
			u.User = url.UserPassword(o.Cluster.Username, o.Cluster.Password)
		}
		o.Routes = append(o.Routes, u)
	}
	return nil
}

// route reads the address of another server: host:port, or a URL.
func route(s string) (*url.URL, error) {
	if !strings.Contains(s, "://") {
		s = "nats://" + s
	}
	u, err := url.Parse(s)
	if err != nil || u.Port() == "" || u.Hostname() == "" {
		return nil, fmt.Errorf("routes %q: want host:port of each server's routes-listen", s)
	}
	return u, nil
}

func address(name, s string) (host string, port int, err error) {
	host, p, err := net.SplitHostPort(s)
	if err == nil {
		port, err = strconv.Atoi(p)
	}
	if err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("%s %q: want host:port, as in 127.0.0.1:4222", name, s)
	}
	return host, port, nil
}

// URL returns the address for clients on this machine.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.s.ClientURL()
}

// Close ends the server and waits until what it has acknowledged is on disk.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.s.Shutdown()
	s.s.WaitForShutdown()
}

// logger hands what a server says on.
type logger func(string)

// Noticef implements server.Logger.
func (logger) Noticef(string, ...any) {}

// Warnf implements server.Logger.
func (l logger) Warnf(format string, v ...any) { l(fmt.Sprintf(format, v...)) }

// Fatalf implements server.Logger.
func (l logger) Fatalf(format string, v ...any) { l(fmt.Sprintf(format, v...)) }

// Errorf implements server.Logger.
func (l logger) Errorf(format string, v ...any) { l(fmt.Sprintf(format, v...)) }

// Debugf implements server.Logger.
func (logger) Debugf(string, ...any) {}

// Tracef implements server.Logger.
func (logger) Tracef(string, ...any) {}
