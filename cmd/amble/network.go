package main

import (
	"errors"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/internal/cli"
)

// networkFlags say which way requests take.
type networkFlags struct {
	Proxy         string `placeholder:"URL" help:"Make every request through this proxy: http, https or socks5. Names are still looked up here."`
	SourceAddress string `placeholder:"IP" help:"Address of this machine that requests are made from."`

	AllowPort ports `placeholder:"PORT,..." help:"Ports that may be requested although browsers refuse to, such as 22, 25 or 6000."`

	InsecureHosts words `hidden:"" help:"Host names whose certificates are not verified; their visits and archives say so."`
}

// secretGone stands in a job for the user name and password of a proxy, which are not kept there.
const secretGone = "***"

// apply makes the flags part of a fetcher's configuration.
func (f *networkFlags) apply(c *fetcher.Config) error {
	proxy, err := f.proxy()
	source, err2 := f.source()
	c.Proxy, c.LocalAddr, c.InsecureHosts, c.AllowPorts = proxy, source, f.InsecureHosts, f.AllowPort
	return errors.Join(err, err2, f.checkInsecure())
}

func (f *networkFlags) proxy() (*url.URL, error) {
	if f.Proxy == "" {
		return nil, nil
	}
	shown := withoutSecrets(f.Proxy)
	u, err := url.Parse(f.Proxy)
	switch {
	case err != nil, u.Hostname() == "":
		return nil, cli.Usage("--proxy %q: want a URL such as http://proxy.university.edu:3128 or socks5://127.0.0.1:1080", shown)
	case u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5":
		return nil, cli.Usage("--proxy %q: a proxy is http, https or socks5", shown)
	case !validPort(u):
		return nil, cli.Usage("--proxy %q: a port is 1 to 65535", shown)
	case u.User != nil && u.User.Username() == secretGone:
		return nil, cli.Usage("--proxy %q: a job does not keep user name and password: give --proxy again", shown)
	case u.Path != "" && u.Path != "/" || u.RawQuery != "":
		return nil, cli.Usage("--proxy %q: want no more than scheme, host and port", shown)
	}
	return u, nil
}

func validPort(u *url.URL) bool {
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	return u.Port() == "" || err == nil && n > 0
}

func (f *networkFlags) source() (netip.Addr, error) {
	if f.SourceAddress == "" {
		return netip.Addr{}, nil
	}
	addr, err := netip.ParseAddr(f.SourceAddress)
	if err != nil || addr.Zone() != "" || addr.IsUnspecified() {
		return addr, cli.Usage("--source-address %q: want an address of this machine, such as 192.0.2.7", f.SourceAddress)
	}
	return addr, nil
}

func (f *networkFlags) checkInsecure() error {
	var errs []error
	for _, h := range f.InsecureHosts {
		name, err := hostName(h)
		errs = append(errs, cli.Refuse(err != nil || strings.Contains(h, "*") || name != strings.ToLower(h), "--insecure-hosts %q: want host names, each in full", h))
	}
	return errors.Join(errs...)
}
