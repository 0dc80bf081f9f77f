// Package natsserver runs a nats-server with JetStream in this process, configured as package cluster/nats needs it: each write is synced
// before it is acknowledged. It is a separate package because of its size, a sixth of the command amble (9 of 52 MB).
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
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/amble-crawler/amble/internal/filelock"
)

// Config configures a server.
type Config struct {
	Name string // name of the server, unique in the cluster
	Dir  string // directory for all data
	// Listen is the address for clients, as host:port. Port 0: any free port.
	Listen string
	// RoutesListen is the address for other servers, and Routes are their addresses; the address of this server may be among them. Without
	// both, the server runs alone.
	RoutesListen string
	Routes       []string

	User, Password string // required from clients and other servers; "": none
	Token          string // alternative to User and Password
	// TLS configures the connections with clients and other servers, which need certificates if TLS has ClientCAs. nil: no encryption.
	TLS *tls.Config
	// Log is called with the log messages of the server. It may be nil.
	Log func(text string)
}

// Server is a running server. It is safe for concurrent use.
type Server struct {
	c    Config   // configuration with the chosen port
	lock *os.File // held while the server uses c.Dir

	mu  sync.Mutex
	s   *server.Server // the running server, which Heal replaces
	low bool           // the disk was almost full: writes may fail until a restart

	closed bool
}

// startTime limits the time that a server may take to start.
const startTime = 30 * time.Second

// Start starts a server. It returns when the server listens; other servers may not be running yet. Two servers that used the same directory
// would destroy it, so the second one is refused.
func Start(c Config) (*Server, error) {
	if _, err := c.options(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(c.Dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	mine, err := filelock.TryLock(lock, true)
	if !mine && err == nil {
		err = fmt.Errorf("another server uses %s: name another directory, or stop it first", c.Dir)
	}
	var s *server.Server
	if err == nil {
		s, err = c.start()
	}
	if err != nil {
		return nil, errors.Join(err, filelock.Close(lock))
	}
	if a, ok := s.Addr().(*net.TCPAddr); ok {
		host, _, _ := net.SplitHostPort(c.Listen)
		c.Listen = net.JoinHostPort(host, strconv.Itoa(a.Port))
	}
	return &Server{c: c, lock: lock, s: s}, nil
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
	var failed atomic.Bool
	s.SetLoggerV2(logger{c.Log, &failed}, false, false, false)
	s.Start()
	for late := time.Now().Add(startTime); !s.ReadyForConnections(startTime / 100); {
		if failed.Load() || time.Now().After(late) { // nats-server itself would not end after a fatal error
			s.Shutdown()
			return nil, fmt.Errorf("the server does not listen on %s: is another one using the address?", c.Listen)
		}
	}
	return s, nil
}

// leastRoom is the minimum increase of the space limit, in bytes, for which a server is restarted; it exceeds the size of a record.
const leastRoom = 1 << 20

// Heal restarts the server, with the same address and data, if it stores nothing for lack of disk space and there is space again. It must,
// because a server computes its limit only at its start, and stops storing for good when its disk is full. Heal reports whether it has
// restarted the server. Call it periodically. Where the free space is unknown (Windows), it does nothing.
func (s *Server) Heal() (healed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	room, known := freeBytes(s.c.Dir)
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

// full reports whether the server stores nothing, and would store again if restarted with room free bytes on the disk.
func (s *Server) full(room int64) bool {
	if s.low || !s.s.JetStreamEnabled() {
		return true
	}
	is, err := s.s.Jsz(nil)
	if err != nil {
		return false
	}
	used, limit := int64(is.Store), is.Config.MaxStore
	next := (room + used) / 4 * 3 // the default limit that JetStream would compute at a start
	return used+leastRoom >= limit && next >= limit+leastRoom
}

// State describes the state of a server.
type State struct {
	// Ready is the reason why the server cannot be used: it is starting, has lost the other servers, or has no disk space. nil: usable.
	Ready                    error
	Stored, Limit            int64 // bytes; Limit is a share of the space that was free when the server started
	Streams, Clients, Routes int
	Received, Sent           int64 // messages since the server's start
}

// State returns the state of the server.
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
		x.Ready = errors.New("the server has not caught up with the others, or a majority of them is unreachable")
	case x.Limit > 0 && x.Stored+leastRoom >= x.Limit:
		x.Ready = errors.New("the server stores nothing: its storage is full")
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
		if o.TLSVerify { // the server itself sets ClientAuth only for certificates that it reads from files
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

// routes configures the server as one of several.
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

// route parses the address of another server: host:port, or a URL.
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

// Close stops the server and waits until all acknowledged data is on disk.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.s.Shutdown()
	s.s.WaitForShutdown()
	_ = filelock.Close(s.lock) // fails only in a second Close
}

// logger forwards the server's log, and notes fatal errors.
type logger struct {
	log    func(string) // may be nil
	failed *atomic.Bool
}

// Noticef implements server.Logger.
func (logger) Noticef(string, ...any) {}

// Warnf implements server.Logger.
func (l logger) Warnf(format string, v ...any) {
	if l.log != nil {
		l.log(fmt.Sprintf(format, v...))
	}
}

// Fatalf implements server.Logger.
func (l logger) Fatalf(format string, v ...any) {
	l.Warnf(format, v...)
	l.failed.Store(true)
}

// Errorf implements server.Logger.
func (l logger) Errorf(format string, v ...any) { l.Warnf(format, v...) }

// Debugf implements server.Logger.
func (logger) Debugf(string, ...any) {}

// Tracef implements server.Logger.
func (logger) Tracef(string, ...any) {}
