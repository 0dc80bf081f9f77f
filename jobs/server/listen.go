package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"

	"github.com/amble-crawler/amble/internal/localweb"
)

// ErrOpen is wrapped by the error of Listen for an address that other machines can reach without encryption.
var ErrOpen = errors.New("server: other machines can reach this address, and nothing is encrypted")

// maxConnections limits the open connections. Further ones wait.
const maxConnections = 512

// Listen listens on an address for [Server.Serve]. It uses TLS if cert and key name files with a certificate and its key (PEM). Without
// TLS, the address must be on loopback, or proxied must be set because a proxy encrypts, which also needs Config.Proxied. Otherwise the
// error wraps ErrOpen.
func Listen(address, cert, key string, proxied bool) (net.Listener, error) {
	var c *tls.Config
	if cert != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("server: %w", err)
		}
		c = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	}
	ln, err := new(net.ListenConfig).Listen(context.Background(), "tcp", address)
	switch {
	case err != nil:
		return nil, fmt.Errorf("server: %w", err)
	case c != nil:
		return tls.NewListener(ln, c), nil
	case !proxied && !localweb.OnLoopback(ln.Addr()):
		return nil, errors.Join(fmt.Errorf("%w: %s: give a certificate, listen on 127.0.0.1, or have a proxy in front of it", ErrOpen, ln.Addr()), ln.Close())
	}
	return ln, nil
}

// Serve serves on Config.Listener until ctx ends. Then it gives requests of the jobs up to patience to end, and closes everything. Jobs
// continue when the directory is opened again.
func (s *Server) Serve(ctx context.Context, patience time.Duration) error {
	web := &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: requestTime, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
	}
	failed := make(chan error, 1)
	s.serving.Go(func() { failed <- web.Serve(netutil.LimitListener(s.config.Listener, maxConnections)) })
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	closed := s.Close(bounded) // also ends the streams, so that Shutdown need not wait for them
	short, cancelShort := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancelShort()
	if web.Shutdown(short) != nil {
		_ = web.Close() // downloads of exports are cut off
	}
	s.serving.Wait()
	return errors.Join(err, closed)
}
