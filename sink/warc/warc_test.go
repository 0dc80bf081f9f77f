package warc

import (
	"bytes"
	"crypto/sha256"
	"encoding"
	"fmt"
	"hash/maphash"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/warc/warctest"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)

// answer returns an exchange with the given response header and body.
func answer(url, head, body string) *sink.Exchange {
	return &sink.Exchange{
		URL: url, Addr: netip.MustParseAddr("192.0.2.1"), Started: noon, Ended: noon.Add(120 * time.Millisecond), Protocol: "HTTP/1.1",
		Request: []byte("GET / HTTP/1.1\r\nHost: x\r\nUser-Agent: amble\r\n\r\n"),
		Head:    []byte("HTTP/1.1 200 OK\r\n" + strings.ReplaceAll(head, "\n", "\r\n") + "\r\n"),
		Body:    []byte(body),
	}
}

func page(url, body string) *sink.Record {
	return &sink.Record{URL: url, Depth: 2, Via: "http://x.test/", Outcome: "fetched", Status: 200, Exchange: answer(url, "Content-Type: text/html\n", body)}
}

func open(t *testing.T, dir string, o Options) *Writer {
	t.Helper()
	if o.now == nil {
		o.now = func() time.Time { return noon }
	}
	w, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func add(t *testing.T, w *Writer, rs ...*sink.Record) {
	t.Helper()
	for _, r := range rs {
		if err := w.Append(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
}

// written appends records to a new archive and reads it back.
func written(t *testing.T, o Options, rs ...*sink.Record) []*warctest.Record {
	t.Helper()
	dir := t.TempDir()
	w := open(t, dir, o)
	add(t, w, rs...)
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return read(t, dir)
}

func read(t *testing.T, dir string) []*warctest.Record {
	t.Helper()
	all, err := warctest.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func kinds(rs []*warctest.Record) string {
	var b strings.Builder
	for _, r := range rs {
		fmt.Fprintf(&b, "%s ", r.Type())
	}
	return strings.TrimSpace(b.String())
}

func TestCaptureIsRequestResponseMetadata(t *testing.T) {
	rs := written(t, Options{Info: Info{Software: "amble/1.2", Operator: "A. Person", UserAgent: "amble\r\nX: y"}}, page("http://x.test/a?b=c", "hello"))
	if got := kinds(rs); got != "warcinfo request response metadata" {
		t.Fatal(got)
	}
	info, req, resp, meta := rs[0], rs[1], rs[2], rs[3]
	for name, want := range map[string]string{"software": "amble/1.2", "operator": "A. Person", "http-header-user-agent": "amble  X: y", "format": "WARC File Format 1.1", "conformsTo": conformsTo} {
		if got := info.Described(name); got != want {
			t.Errorf("warcinfo %s: %q, want %q", name, got, want)
		}
	}
	if got := string(req.Block); got != "GET / HTTP/1.1\r\nHost: x\r\nUser-Agent: amble\r\n\r\n" {
		t.Errorf("request %q", got)
	}
	if got := string(resp.Block); got != "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\nhello" {
		t.Errorf("response %q", got)
	}
	if req.Get("WARC-Concurrent-To") != resp.ID() || resp.Get("WARC-Concurrent-To") != req.ID() || meta.Get("WARC-Refers-To") != resp.ID() {
		t.Error("they do not name each other")
	}
	if resp.Get("WARC-Date") != "2026-03-01T12:00:00.123456Z" || resp.Get("WARC-IP-Address") != "192.0.2.1" || resp.Get("WARC-Target-URI") != "http://x.test/a?b=c" {
		t.Errorf("%+v", resp.Fields)
	}
	want := "via: http://x.test/\r\nfetchTimeMs: 120\r\ndepth: 2\r\noutcome: fetched\r\n"
	if got := string(meta.Block); got != want {
		t.Errorf("metadata %q, want %q", got, want)
	}
}

func TestRecordSaysWhereItsAnswerIs(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, Options{})
	first, second := page("http://x.test/1", "one"), page("http://x.test/2", "two")
	refused := &sink.Record{URL: "http://x.test/3", Outcome: "refused", WARC: &sink.Location{File: "old"}}
	add(t, w, first, second, refused)
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	rs := read(t, dir)
	for i, r := range []*sink.Record{first, second} {
		a := rs[2+3*i]
		if want := (sink.Location{File: a.File, Offset: a.Offset, Length: a.Length}); *r.WARC != want {
			t.Errorf("%+v, want %+v", *r.WARC, want)
		}
	}
	if len(rs) != 7 || refused.WARC != nil {
		t.Errorf("%s, refused at %+v", kinds(rs), refused.WARC)
	}
}

// ISO 28500 section 5.9: the payload is the entity body, without the transfer coding.
func TestChunkedBodyIsStoredWithoutChunks(t *testing.T) {
	x := answer("http://x.test/", "transfer-encoding: chunked\nContent-Length: 99\nContent-Encoding: gzip\n", "5;ext=1\r\nhello\r\n6\r\n world\r\n0\r\nTrailer: x\r\n\r\n")
	rs := written(t, Options{}, &sink.Record{URL: x.URL, Exchange: x})
	want := "HTTP/1.1 200 OK\r\nX-Crawler-transfer-encoding: chunked\r\nX-Crawler-Content-Length: 99\r\nContent-Encoding: gzip\r\n\r\nhello world"
	if got := string(rs[2].Block); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestWronglyFramedBodyIsStoredUnchanged(t *testing.T) {
	for _, body := range []string{"no chunks\r\n", "5\r\nhelloworld", "zz\r\n"} {
		x := answer("http://x.test/", "Transfer-Encoding: chunked\n", body)
		rs := written(t, Options{}, &sink.Record{URL: x.URL, Exchange: x})
		if want := string(x.Head) + body; string(rs[2].Block) != want {
			t.Errorf("%q, want %q", rs[2].Block, want)
		}
	}
}

func TestRevisitOfChunkedBody(t *testing.T) {
	x := answer("http://x.test/2", "Transfer-Encoding: chunked\n", "4\r\nsame\r\n0\r\n\r\n")
	rs := written(t, Options{}, page("http://x.test/1", "same"), &sink.Record{Exchange: x})
	if got := string(rs[5].Block); rs[5].Type() != "revisit" || got != "HTTP/1.1 200 OK\r\nX-Crawler-Transfer-Encoding: chunked\r\n\r\n" {
		t.Errorf("%s %q", rs[5].Type(), got)
	}
}

func TestAddressesFollowTheStandard(t *testing.T) {
	for in, want := range map[string]string{"::ffff:192.0.2.1": "192.0.2.1", "fe80::1%eth0": "fe80::1", "2001:DB8::1": "2001:db8::1"} {
		r := page("http://x.test/", "")
		r.Exchange.Addr = netip.MustParseAddr(in)
		if got := written(t, Options{}, r)[2].Get("WARC-IP-Address"); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
	r := page("http://x.test/", "")
	r.Exchange.Addr, r.Exchange.Started, r.Exchange.Ended = netip.Addr{}, time.Time{}, noon
	rs := written(t, Options{}, r)
	unfinished := page("http://x.test/", "")
	unfinished.Exchange.Ended = time.Time{}
	if got := written(t, Options{}, unfinished)[3]; got.Described("fetchTimeMs") != "" {
		t.Errorf("%s", got.Block)
	}
	if rs[2].Get("WARC-IP-Address") != "" || rs[2].Get("WARC-Date") != formatDate(noon) || rs[3].Described("fetchTimeMs") != "" {
		t.Errorf("%+v, %s", rs[2].Fields, rs[3].Block)
	}
}

func TestTimesAreUTC(t *testing.T) {
	r := page("http://x.test/", "")
	r.Exchange.Started = noon.In(time.FixedZone("", 5*3600))
	if got := written(t, Options{}, r)[2].Get("WARC-Date"); got != "2026-03-01T12:00:00.123456Z" {
		t.Error(got)
	}
}

func TestRepeatedPayloadIsRevisit(t *testing.T) {
	one, two := page("http://x.test/1", "same"), page("http://y.test/2", "same")
	two.Exchange.Started = noon.Add(time.Hour)
	rs := written(t, Options{}, one, two, page("http://x.test/3", ""), page("http://x.test/4", ""))
	if got := kinds(rs); got != "warcinfo request response metadata request revisit metadata request response metadata request response metadata" {
		t.Fatal(got)
	}
	r := rs[5]
	if r.Get("WARC-Refers-To") != rs[2].ID() || r.Get("WARC-Refers-To-Target-URI") != "http://x.test/1" || r.Get("WARC-Refers-To-Date") != "2026-03-01T12:00:00.123456Z" {
		t.Errorf("%+v", r.Fields)
	}
	if string(r.Block) != string(two.Exchange.Head) {
		t.Errorf("%q", r.Block)
	}
}

// A 304 response to a conditional request is a revisit without a payload. Any other 304 is stored like other responses.
func TestNotModifiedIsRevisit(t *testing.T) {
	unmodified := func(outcome string) *sink.Record {
		x := answer("http://x.test/1", "ETag: \"1\"\n", "")
		x.Head = []byte("HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n")
		return &sink.Record{URL: x.URL, Outcome: outcome, Status: 304, Exchange: x}
	}
	rs := written(t, Options{}, page("http://x.test/1", "once"), unmodified("not_modified"), unmodified("fetched"))
	if got := kinds(rs); got != "warcinfo request response metadata request revisit metadata request response metadata" {
		t.Fatal(got)
	}
	if r := rs[5]; r.Get("WARC-Profile") != profileNotModified || r.Get("WARC-Refers-To-Target-URI") != "http://x.test/1" || r.Get("WARC-Payload-Digest") != "" ||
		!strings.HasPrefix(string(r.Block), "HTTP/1.1 304 ") {
		t.Errorf("%+v %q", r.Fields, r.Block)
	}
}

func TestTruncatedPayloadIsNeverRevisit(t *testing.T) {
	for reason, want := range map[string]string{
		"length": "length", "ratio": "length", "unwanted": "length", "idle_timeout": "time", "fetch_timeout": "time",
		"slow": "time", "cut_short": "disconnect", "encoding": "unspecified", "new_code": "unspecified",
	} {
		cut := page("http://x.test/2", "same")
		cut.Exchange.Truncated = reason
		rs := written(t, Options{}, page("http://x.test/1", "same"), cut, page("http://x.test/3", "same"))
		if rs[5].Type() != "response" || rs[5].Get("WARC-Truncated") != want || rs[6].Described("truncated") != reason || rs[8].Get("WARC-Refers-To") != rs[2].ID() {
			t.Errorf("%s: %s, %+v", reason, kinds(rs), rs[5].Fields)
		}
	}
}

func TestPayloadsAreForgottenInOrder(t *testing.T) {
	body := func(i int) *sink.Record { return page(fmt.Sprintf("http://x.test/%d", i), fmt.Sprint(i)) }
	long := page("http://x.test/"+strings.Repeat("a", maxRevisitURI), "long")
	rs := written(t, Options{Revisits: 2}, body(1), body(2), body(2), body(3), body(2), body(1), body(2), body(3), long, long, body(2), body(3))
	var got []string
	for _, r := range rs {
		if r.IsAnswer() {
			got = append(got, fmt.Sprintf("%.3s", r.Type()))
		}
	}
	// Of the remembered payloads, 3 replaces 1, 1 replaces 2, 2 replaces 3, and 3 replaces 1. The long payload is never remembered.
	if want := "res res rev res rev res res res res res rev rev"; strings.Join(got, " ") != want {
		t.Errorf("%s, want %s", strings.Join(got, " "), want)
	}
	if got := kinds(written(t, Options{Revisits: None}, body(1), body(1))); strings.Contains(got, "revisit") {
		t.Error(got)
	}
}

// A digest can be forged. Therefore equal digests alone do not make a payload a repetition.
func TestRevisitNeedsMoreThanTheDigest(t *testing.T) {
	p := newPayloads(10)
	a, b := &capture{x: answer("http://x.test/", "", "one"), digest: "sha1:X"}, &capture{x: answer("http://x.test/", "", "two"), digest: "sha1:X"}
	ka, _ := p.key(a)
	kb, _ := p.key(b)
	p.add(ka, original{uri: "a"})
	if p.find(ka) == nil || p.find(kb) != nil {
		t.Error("two payloads pass for one")
	}
}

func TestExchangeWithoutAnswerLeavesRequestAndMetadata(t *testing.T) {
	r := page("http://x.test/", "")
	r.Exchange.Head, r.Outcome, r.Reason, r.Attempt = nil, "failed", "reset", 2
	rs := written(t, Options{}, r)
	if kinds(rs) != "warcinfo request metadata" || rs[2].Described("reason") != "reset" || rs[2].Described("attempt") != "2" || r.WARC.Offset != rs[1].Offset {
		t.Errorf("%s %s", kinds(rs), rs[2].Block)
	}
}

func TestExchangeWithoutVisit(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, Options{})
	x := answer("http://x.test/robots.txt", "Content-Type: text/plain\n", "User-agent: *\n")
	x.Purpose = "robots"
	if err := w.AppendExchange(t.Context(), x); err != nil {
		t.Fatal(err)
	}
	if err := w.AppendExchange(t.Context(), &sink.Exchange{URL: "http://x.test/"}); err != nil {
		t.Fatal(err)
	}
	w.Close(t.Context())
	if rs := read(t, dir); kinds(rs) != "warcinfo request response metadata" || string(rs[3].Block) != "fetchTimeMs: 120\r\npurpose: robots\r\n" {
		t.Errorf("%s %q", kinds(rs), rs[3].Block)
	}
}

// See the IIPC's WARC Extensions for HTTP/2.
func TestHTTP2IsMarked(t *testing.T) {
	for proto, want := range map[string]map[string]string{
		"HTTP/2.0": {"https": "h2", "http": "h2c"}, "HTTP/3.0": {"https": "h3"}, "HTTP/1.1": {"http": "", "https": ""}, "": {"http": ""},
	} {
		for scheme, want := range want {
			x := answer(scheme+"://x.test/", "Server: x\n", "body")
			x.Protocol = proto
			if got := written(t, Options{}, &sink.Record{Exchange: x})[2].Get("WARC-Protocol"); got != want {
				t.Errorf("%s %s: %q, want %q", proto, scheme, got, want)
			}
		}
	}
}

func TestNextFileBeginsBeforeOneIsTooLarge(t *testing.T) {
	const most = 20_000
	dir := t.TempDir()
	w := open(t, dir, Options{MaxSize: most, Level: 1})
	noise := bytes.Repeat([]byte("0123456789abcdefghijklmnopqrstuvwxyz"), 300)
	for i := range 40 {
		for j := range noise {
			noise[j] ^= byte(i*j + j>>3*7)
		}
		add(t, w, page(fmt.Sprintf("http://x.test/%d", i), string(noise[:len(noise)*(i%5)/5])))
	}
	big := page("http://x.test/big", strings.Repeat("big", 100_000))
	add(t, w, big, page("http://x.test/after", "after"))
	w.Close(t.Context())
	rs := read(t, dir)
	if got := len(warctest.Answers(rs)); got != 42 {
		t.Errorf("%d answers", got)
	}
	ps, err := filesOf(t, dir).parts(DefaultPrefix)
	if err != nil || len(ps) < 8 || big.WARC.File == ps[0].name {
		t.Fatalf("%d files, %v", len(ps), err)
	}
	for i, p := range ps {
		if want := fmt.Sprintf("amble-20260301120000-%05d.warc.gz", i); p.name != want {
			t.Errorf("%s, want %s", p.name, want)
		}
		if p.size > most && p.name != big.WARC.File {
			t.Errorf("%s has %d bytes", p.name, p.size)
		}
	}
}

func TestNextFileBeginsWhenOneIsOld(t *testing.T) {
	now, dir := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), t.TempDir()
	w := open(t, dir, Options{MaxAge: time.Hour, now: func() time.Time { return now }})
	var in []string
	for i := range 4 {
		p := page(fmt.Sprintf("http://x.test/%d", i), "x")
		add(t, w, p)
		in = append(in, p.WARC.File)
		now = now.Add(30 * time.Minute)
	}
	w.Close(t.Context())
	if in[0] != in[1] || in[1] == in[2] || in[2] != in[3] {
		t.Errorf("pages every half an hour are in %v, want two in a file", in)
	}
}

// filesOf returns the disk of a directory.
func filesOf(t testing.TB, dir string) disk {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return disk{root: root}
}

func TestLongURLsCountAsSize(t *testing.T) {
	const most = 50_000
	dir := t.TempDir()
	w := open(t, dir, Options{MaxSize: most})
	for i := range 30 {
		url := make([]byte, 8000)
		for j := range url {
			url[j] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"[maphash.Comparable(w.seen.seed, i*9000+j)&63]
		}
		r := page("http://x.test/"+string(url), "")
		r.Via, r.Hops = r.URL, []string{r.URL, r.URL}
		add(t, w, r)
	}
	w.Close(t.Context())
	ps, err := filesOf(t, dir).parts(DefaultPrefix)
	if err != nil || len(ps) < 10 {
		t.Fatalf("%d files, %v", len(ps), err)
	}
	for _, p := range ps {
		if p.size > most {
			t.Errorf("%s has %d bytes", p.name, p.size)
		}
	}
}

func TestLargeBuffersAreReleased(t *testing.T) {
	w := open(t, t.TempDir(), Options{Compression: Zstd})
	defer w.Close(t.Context())
	noise := make([]byte, 2*keepGroup)
	for i := range noise {
		noise[i] = byte(maphash.Comparable(w.seen.seed, i))
	}
	add(t, w, page("http://x.test/1", string(noise)), page("http://x.test/2", "small"))
	if n := w.group.buf.Cap(); n > keepGroup {
		t.Errorf("%d bytes are kept", n)
	}
}

func TestInvalidOptions(t *testing.T) {
	for _, o := range []Options{
		{Prefix: "a/b"}, {Prefix: ".a"}, {Prefix: strings.Repeat("a", 65)}, {MaxSize: -2}, {MaxSize: 1 << 50}, {Compression: "br"},
		{Level: 10}, {Level: -1}, {Compression: Zstd, Level: 5}, {Digest: "md5"}, {Revisits: -2},
	} {
		if _, err := Open(t.TempDir(), o); err == nil {
			t.Errorf("%+v", o)
		}
	}
}

func TestFormsOfOutput(t *testing.T) {
	for _, o := range []Options{{Compression: Zstd}, {Compression: Zstd, Level: 4}, {Compression: Gzip, Level: 9}, {Digest: SHA256}, {Prefix: "a-b", MaxSize: None}} {
		long := page("http://x.test/long", strings.Repeat("long text ", 2e5))
		rs := written(t, o, page("http://x.test/1", "one"), page("http://x.test/2", "one"), long)
		if got := kinds(rs); got != "warcinfo request response metadata request revisit metadata request response metadata" {
			t.Errorf("%+v: %s", o, got)
		}
		if want := string(o.Digest) + ":"; o.Digest != "" && !strings.HasPrefix(rs[2].Get("WARC-Payload-Digest"), want) {
			t.Errorf("%+v: %s", o, rs[2].Get("WARC-Payload-Digest"))
		}
	}
}

func TestNoFileWithoutCapture(t *testing.T) {
	dir := t.TempDir() + "/new"
	w := open(t, dir, Options{})
	add(t, w, &sink.Record{URL: "http://x.test/", Outcome: "refused"})
	if _, err := w.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Close(t.Context())
	if es, err := os.ReadDir(dir); len(es) > 0 || err != nil {
		t.Errorf("%v, %v", es, err)
	}
}

func TestIndexOfAwkwardAnswers(t *testing.T) {
	r := page("http://x.test/\\a\\\"", "hello")
	r.Exchange.Head = []byte("HTTP/1.1 200 OK\r\nContent-Type: " + strings.Repeat("a", 128) + "/" + strings.Repeat("b", 200) + "\r\n\r\n")
	written(t, Options{}, r)
}

func TestFieldsCannotBeInjected(t *testing.T) {
	r := page("http://x.test/a b\r\nWARC-Type: x\x00<\xff>\"", "hello")
	r.Via, r.Reason, r.Hops = "http://v.test/\r\nx: y", "a\nb: c", []string{"http://h.test/\n"}
	r.Exchange.Head = []byte("HTTP/1.1 200 OK\r\nContent-Type: text/\"html\\\x01\r\n\r\n")
	rs := written(t, Options{}, r)
	if got := rs[2].Get("WARC-Target-URI"); got != "http://x.test/a%20b%0D%0AWARC-Type:%20x%00%3C%FF%3E%22" {
		t.Error(got)
	}
	if got := rs[3].Described("via") + rs[3].Described("reason") + rs[3].Described("redirectedFrom"); got != "http://v.test/%0D%0Ax:%20ya b: chttp://h.test/%0A" {
		t.Error(got)
	}
}

// Extents reports each extent once. Lengths and hashes match the files, even in an archive of several files.
func TestExtents(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, Options{MaxSize: 3000})
	told := map[string][]sink.Extent{}
	for i := range 30 {
		add(t, w, page(fmt.Sprintf("http://x.test/%d", i), fmt.Sprint(i)))
		if i%4 > 0 {
			continue
		}
		if _, err := w.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, e := range w.Extents() {
			told[e.File] = append(told[e.File], e)
		}
		if again := w.Extents(); len(again) > 0 {
			t.Errorf("twice: %v", again)
		}
	}
	if _, err := w.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, e := range w.Extents() {
		told[e.File] = append(told[e.File], e)
	}
	w.Close(t.Context())
	files, err := filepath.Glob(filepath.Join(dir, "*"+Gzip.ext()))
	if err != nil || len(files) < 4 || len(files) != len(told) {
		t.Fatalf("%d files, of %d told; %v", len(files), len(told), err)
	}
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		es := told[filepath.Base(path)]
		if last := es[len(es)-1]; last.Bytes != int64(len(b)) {
			t.Errorf("%s: %d of %d bytes reported", filepath.Base(path), last.Bytes, len(b))
		}
		for _, e := range es {
			if e.SHA256 != sha256.Sum256(b[:e.Bytes]) {
				t.Errorf("%s: another hash of %d bytes", e.File, e.Bytes)
			}
			h := sha256.New()
			if err := h.(encoding.BinaryUnmarshaler).UnmarshalBinary(e.State); err != nil {
				t.Fatal(err)
			}
			h.Write(b[e.Bytes:])
			if whole := sha256.Sum256(b); string(h.Sum(nil)) != string(whole[:]) {
				t.Errorf("%s: the hash cannot be continued from the state at %d bytes", e.File, e.Bytes)
			}
		}
	}
}
