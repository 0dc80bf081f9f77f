package main

import "strings"

// duty is a part of a crawl's work, with prefixes of the functions that do it.
type duty struct {
	name  string
	funcs []string
}

const module = "github.com/amble-crawler/amble/"

// garbage takes precedence over all other duties, wherever one of its functions is in a stack.
var garbage = duty{"garbage collection", []string{
	"runtime.gcBgMarkWorker", "runtime.gcAssistAlloc", "runtime.gcStart", "runtime.gcMark", "runtime.bgsweep", "runtime.bgscavenge",
	"runtime.deductSweepCredit", "runtime.GC", "runtime.gcDrain", "runtime.gcParkAssist",
}}

// duties lists the other duties. For each function, the first one that matches counts.
var duties = []duty{
	{"content decoding", []string{
		"github.com/klauspost/compress/", "github.com/andybalholm/brotli", "compress/", "hash/crc32.", "hash/adler32.",
		module + "fetcher.(*codecs)", module + "fetcher.(*decoder)",
	}},
	{"character set", []string{
		"unicode/utf8.", "golang.org/x/text/", "golang.org/x/net/html/charset", module + "fetcher.toUTF8", module + "fetcher.(*Page).Text",
	}},
	{"hash of the body", []string{"crypto/", module + "crawler.(*run).same", module + "crawler.(*contents)"}},
	{"scan for links", []string{module + "extract."}},
	{"resolve links, seen, scope", []string{
		module + "weburl.", "github.com/zeebo/xxh3", "github.com/nlnwa/", "github.com/PuerkitoBio/purell", module + "crawler.(*linker)",
		module + "crawler.(*run).admissible", module + "crawler.(*SeedScope)", module + "crawler.(*crowds)", module + "crawler.trap",
		module + "frontier.(*Memory).Known",
	}},
	{"frontier", []string{module + "frontier"}},
	{"robots", []string{module + "robots."}},
	{"ledger", []string{module + "politeness.(*ledger)", module + "politeness.(*Gate).begin", "encoding/json."}},
	{"politeness", []string{module + "politeness.", "golang.org/x/time/rate"}},
	{"visits as JSON lines", []string{module + "sink.", module + "crawler.(*run).publish", module + "crawler.(*run).write", module + "crawler.(*Visit)"}},
	{"HTTP: system calls", []string{"syscall.", "internal/runtime/syscall", "internal/poll."}},
	{"HTTP", []string{"net/http", "net.", "net/textproto", "bufio.", module + "fetcher."}},
	{"crawler, the rest", []string{module + "crawler.", "context."}},
	{"benchmark itself", []string{module + "tools/bench."}},
}

// scheduler is the duty of stacks that have no other: it finds goroutines to run, and waits for the network.
const scheduler = "scheduler and run-time system"

// of returns the duty of a stack. The innermost frame comes first.
func of(stack []string) string {
	for _, f := range stack {
		if garbage.does(f) {
			return garbage.name
		}
	}
	for _, f := range stack {
		for _, d := range duties {
			if d.does(f) {
				return d.name
			}
		}
	}
	return scheduler
}

func (d duty) does(function string) bool {
	for _, prefix := range d.funcs {
		if strings.HasPrefix(function, prefix) {
			return true
		}
	}
	return false
}
