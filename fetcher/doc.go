// Package fetcher makes one GET request per Permit and bounds everything about it: time, header, body, decoding. It
// follows no redirect and retries nothing: what to do next is the crawler's decision and needs another Permit.
//
// [Client] makes the request that a URL needs next: the Gate names it, [Fetcher.Resolve] finds its address (cached
// DNS, and the address guard), the Gate admits it, [Fetcher.Fetch] makes it to that address and no other, and the
// outcome is reported. Programs that request one URL call [Client.Get].
//
// # Connections
//
// A connection is reused only by requests to the same scheme, host, port and address, one at a time, and only if the
// previous answer was read to its end. The Grant's Begin is called immediately before the request's first byte; if it
// fails, nothing is written. A request is never sent a second time once a byte of it has been written.
//
// net/http itself writes a line to the standard logger when a server sends more than was requested,
// which hostile and broken servers do. Nothing else here logs; log.SetOutput silences it.
//
// With a proxy, every request goes through a tunnel to the pinned address (CONNECT, or SOCKS 5), for
// http and https alike: the proxy resolves no name, so the address guard holds behind it too. The
// proxy must allow tunnels to the ports that are crawled.
//
// # Limits
//
// Each limit is a field of [Config]. A limit that is reached before the answer's header is complete results in an
// *[Error]; a later one cuts the body, which is kept, with the reason in [Page.Truncated]. The codes are the Reason
// constants.
//
// # Reading order
//
// client.go has the order of calls to gate and network, fetcher.go and config.go the type and its limits, page.go and
// errors.go what a request gives. exchange.go is one request: dns.go, guard.go, ports.go and pins.go decide about the
// address; dial.go, pool.go, descriptors.go and wire.go connect; request.go, headers.go, cookies.go, watch.go and record.go send and
// observe; body.go, decode.go, streams.go, damaged.go and buffers.go read the body; sniff.go, charset.go and prescan.go
// say what it is.
package fetcher
