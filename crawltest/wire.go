package crawltest

import (
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// hold is the time for which endless answers keep a connection open. It is longer than any client waits.
const hold = time.Hour

// head returns the beginning of a valid answer with additional header lines.
func head(lines ...string) string {
	return "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n" + strings.Join(append(lines, "\r\n"), "\r\n")
}

// Text sends the given bytes and closes the connection. The bytes can be any answer and are usually malformed.
func Text(answer string) Wire {
	return func(c net.Conn) { _, _ = io.WriteString(c, answer) }
}

// EarlyClose closes the connection without an answer.
func EarlyClose() Wire { return func(net.Conn) {} }

// Silent never answers.
func Silent() Wire { return func(c net.Conn) { idle(c, hold) } }

// SlowFirstByte sends a valid answer after a pause.
func SlowFirstByte(d time.Duration, body string) Wire {
	return func(c net.Conn) {
		if idle(c, d) {
			_, _ = io.WriteString(c, head("Content-Length: "+itoa(len(body)))+body)
		}
	}
}

// Drip sends the answer one byte at a time, with a pause before each.
func Drip(answer string, pause time.Duration) Wire {
	return func(c net.Conn) {
		for i := range len(answer) {
			if !idle(c, pause) {
				return
			}
			if _, err := io.WriteString(c, answer[i:i+1]); err != nil {
				return
			}
		}
	}
}

// StatusLine sends the given text instead of a valid status line.
func StatusLine(line string) Wire { return Text(line + "\r\nContent-Length: 2\r\n\r\nok") }

// HeaderFlood answers with n header fields.
func HeaderFlood(n int) Wire {
	return func(c net.Conn) {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "X-Flood-%d: %d\r\n", i, i)
		}
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"+b.String()+"\r\nok")
	}
}

// LongHeader answers with one header field of n bytes.
func LongHeader(n int) Wire {
	return Text(head("Content-Length: 2", "X-Long: "+strings.Repeat("x", n)) + "ok")
}

// EndlessHeader starts a header that never ends.
func EndlessHeader() Wire {
	return endless("HTTP/1.1 200 OK\r\n", "X-Endless: "+strings.Repeat("x", 1000)+"\r\n")
}

// Informational sends n answers with status 103 before the final one.
func Informational(n int) Wire {
	return func(c net.Conn) {
		for range n {
			if _, err := io.WriteString(c, "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"); err != nil {
				return
			}
		}
		_, _ = io.WriteString(c, head("Content-Length: 2")+"ok")
	}
}

// SwitchProtocols answers with status 101, although the request did not ask for another protocol, and then sends nothing.
func SwitchProtocols() Wire {
	return func(c net.Conn) {
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n")
		idle(c, hold)
	}
}

// Chunks answers with a chunked body exactly as given, including bad sizes, extensions and trailers. A valid one is
// "2\r\nok\r\n0\r\n\r\n". The connection is closed after it.
func Chunks(raw string) Wire { return Text(head("Transfer-Encoding: chunked") + raw) }

// Length sends the given Content-Length, whatever the length of the body is, sends the body and closes the connection.
func Length(claim, body string) Wire { return Text(head("Content-Length: "+claim) + body) }

// Encoded answers with a body and a Content-Encoding. The caller supplies the encoded bytes, for example a decompression bomb.
func Encoded(encoding string, body []byte) Wire {
	return func(c net.Conn) {
		if _, err := io.WriteString(c, head("Content-Encoding: "+encoding, "Content-Length: "+itoa(len(body)))); err == nil {
			_, _ = c.Write(body)
		}
	}
}

// EndlessBody sends a body without a declared length, which never ends.
func EndlessBody() Wire { return endless(head(), strings.Repeat("<p>more and more\n", 512)) }

// endless sends the text begin, and then the text more again and again.
func endless(begin, more string) Wire {
	return func(c net.Conn) {
		_, err := io.WriteString(c, begin)
		for err == nil {
			_, err = io.WriteString(c, more)
		}
	}
}

// GarbageAfter sends a valid answer, as if to keep the connection, and garbage after the body. It answers no further request: a client
// that uses the connection again reads the garbage.
func GarbageAfter(body, garbage string) Wire {
	return func(c net.Conn) {
		_, _ = io.WriteString(c, head("Content-Length: "+itoa(len(body)))+body+garbage)
		idle(c, hold)
	}
}

// ResetMidBody sends half of the Content-Length it announces and resets the connection, after a pause in which the
// client can read that half.
func ResetMidBody(half string, pause time.Duration) Wire {
	return func(c net.Conn) {
		_, _ = io.WriteString(c, head("Content-Length: "+itoa(2*len(half)))+half)
		idle(c, pause)
		reset(c)
	}
}

// ResetConn closes the connection with a TCP RST without an answer.
func ResetConn() Wire { return reset }
