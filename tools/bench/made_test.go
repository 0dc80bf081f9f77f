package bench

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// maker makes the pages of one host when they are requested. All pages have the same text, between links by which every page can be
// reached, and links to random pages of the host.
type maker struct {
	shape  shape
	robots []byte
	text   []byte // text between two links
}

func newMaker(s shape, hosts []string, h int) *maker {
	rng := rand.New(rand.NewPCG(uint64(h), 1))
	return &maker{
		shape:  s,
		robots: respond("text/plain", "", []byte(robotsTxt)),
		text:   []byte("<p>" + words(rng, max(20, s.Size/s.Links-70)) + "</p>\n<a href=\""),
	}
}

// answer appends the response to a GET request to b, which may already contain other responses.
func (m *maker) answer(b, request []byte) []byte {
	_, rest, _ := bytes.Cut(request, []byte(" "))
	path, _, _ := bytes.Cut(rest, []byte(" "))
	if string(path) == "/robots.txt" {
		return append(b, m.robots...)
	}
	i, ok := pageOf(string(path))
	if !ok || i >= m.shape.Pages {
		return append(b, notFound...)
	}
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: "
	const room = "        \r\n\r\n" // room for the length, which is padded with spaces
	b = append(append(b, head...), room...)
	start := len(b)
	b = m.page(b, i)
	strconv.AppendInt(b[len(head):len(head)], int64(len(b)-start), 10)
	return b
}

func (m *maker) page(b []byte, i int) []byte {
	b = append(b, "<!DOCTYPE html><title>"...)
	b = append(strconv.AppendInt(b, int64(i), 10), "</title>\n"...) // the number makes all bodies different
	if i == 0 {
		b = append(b, "<a href=\"/private/x\">x</a>\n"...)
	}
	for k := range m.shape.Links {
		to := fanOut*i + 1 + k
		if k >= fanOut || to >= m.shape.Pages {
			to = int(uint64(i+1) * uint64(k+1) * 2654435761 % uint64(m.shape.Pages))
		}
		b = append(append(append(b, m.text...), pagePath(to)...), "\">x</a>\n"...)
	}
	return b
}

// pageOf returns the number of the page that has the path.
func pageOf(path string) (int, bool) {
	if path == "/" {
		return 0, true
	}
	i, err := strconv.Atoi(strings.TrimSuffix(path[strings.LastIndexByte(path, '-')+1:], ".html"))
	return i, err == nil && i > 0 && pagePath(i) == path
}

func TestMadeWebIsWhole(t *testing.T) {
	w := startWeb(t, shape{Hosts: 3, Pages: 300, Size: 2_000, Links: 14, Made: true})
	w.crawl(t, config(newHeapPeak(), true, false))
}
