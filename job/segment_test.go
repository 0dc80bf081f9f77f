package job_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/weburl"
)

const segmentContact = "https://lab.university.edu/crawl"

// segmentConfig returns the settings of a job whose shards are crawled by several processes.
func segmentConfig(t *testing.T) job.Config {
	t.Helper()
	c, err := job.Settings{
		{Name: "contact", Values: []string{segmentContact}}, {Name: "delay", Values: []string{"1s"}}, {Name: "format", Values: []string{"jsonl", "warc"}},
	}.Config()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func parsed(t *testing.T, url string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// crawlSegment crawls a site into a segment: the files of one owner of a shard. It returns the segment as the owner's queue describes it.
func crawlSegment(t *testing.T, w *crawltest.Web, c job.Config, node string, shard int, seed string) job.Segment {
	t.Helper()
	return crawlSegmentUntil(t, w, c, node, shard, nil, seed)
}

// crawlSegmentUntil is like crawlSegment, but the process is killed at the first commit for which killed returns true. Neither this commit
// nor a later one takes place.
func crawlSegmentUntil(t *testing.T, w *crawltest.Web, c job.Config, node string, shard int, killed func(frontier.Checkpoint) bool, seeds ...string) job.Segment {
	t.Helper()
	x, err := c.Shared([]weburl.URL{parsed(t, seeds[0])})
	if err != nil {
		t.Fatal(err)
	}
	w.Apply(&x)
	x.Politeness.OptOut = func(host string) bool { return host == "opted-out.example" }
	s := job.Segment{Node: filepath.Base(node), Shard: shard, Epoch: 1}
	files, err := c.OpenSegment(filepath.Join(node, s.Dir()), s, &x)
	if err != nil {
		t.Fatal(err)
	}
	files.Clock = func() (time.Time, time.Duration, time.Duration) {
		return time.Now(), 20 * time.Millisecond, time.Millisecond
	}
	files.Stored = func() time.Time { return time.Time{} }
	queue := filepath.Join(node, fmt.Sprint(shard), "frontier")
	store, err := disk.Open(queue, disk.Config{})
	if err != nil {
		t.Fatal(err)
	}
	x.Frontier = &killedStore{store, killed}
	cr, err := crawler.New(x)
	if err == nil {
		_, err = cr.Run(t.Context(), seeds...)
	}
	if err != nil && !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	for _, c := range []interface{ Close() error }{files, store} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	all, err := job.ReadSegments(func(prefix string, f func(string, []byte) error) error {
		return disk.ReadValues(queue, disk.Config{}, "", prefix, f)
	})
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	return all[0]
}

var errKilled = errors.New("killed")

// killedStore is the queue of a process that is killed during a commit.
type killedStore struct {
	*disk.Store
	killed func(frontier.Checkpoint) bool // reports whether to kill the process at a commit; nil: never
}

// Commit implements frontier.Durable.
func (k *killedStore) Commit(ctx context.Context, ends []frontier.End, c frontier.Checkpoint) error {
	if k.killed != nil && k.killed(c) {
		return errKilled
	}
	return k.Store.Commit(ctx, ends, c)
}

// TestAssembleOfProcessThatWasKilled checks that the assembled ledger has requests that a process made after its last commit, and that a
// robots.txt that it obeyed exists, although no commit counts the bytes of either.
func TestAssembleOfProcessThatWasKilled(t *testing.T) {
	for name, requests := range map[string]int{job.LedgerName: 1, "robots/index.jsonl": 2} {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			w.Expect(crawltest.Expect{Delay: time.Second, Agent: "amble", Contact: segmentContact})
			s := w.Site("https://a.example")
			s.Page("/", "one")
			s.Robots("User-agent: *\nDisallow: /x\n")
			s.Latency(10 * time.Second) // robots.txt is answered after this time
			c, dir := segmentConfig(t), t.TempDir()
			killed := func(c frontier.Checkpoint) bool { // before the first bytes of the file are committed
				b, ok := c.Values["job/extent/00000001/"+name]
				return ok && !strings.HasPrefix(string(b), `{"bytes":0,`)
			}
			g := crawlSegmentUntil(t, w, c, filepath.Join(dir, "n0"), 0, killed, "https://opted-out.example/", s.URL("/"))
			if !g.Stored.Equal(g.Begun) {
				t.Errorf("stored at %v, and nothing was since it began at %v", g.Stored, g.Begun)
			}
			a := &job.Assembly{Config: c, Of: "cluster job test", MaxSkew: time.Second, Seeds: []weburl.URL{parsed(t, s.URL("/"))}}
			var err error
			if a.Sources, err = job.Gather(t.Context(), []job.Segment{g}, map[string]job.NodeFiles{"n0": {Dir: filepath.Join(dir, "n0")}}, dir); err != nil {
				t.Fatal(err)
			}
			out := filepath.Join(dir, "out")
			if err := job.Assemble(out, a); err != nil {
				t.Fatal(err)
			}
			r, err := job.Read(out)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			v, err := r.Verify()
			if err != nil || v.Requests != requests || len(v.Violations) > 0 {
				t.Errorf("killed before %s is committed: %d requests, want %d; %v, %v", name, v.Requests, requests, v.Violations, err)
			}
		})
	}
}

// TestAssemble assembles a job directory from the files of two processes. The directory has only what they committed, verify finds no
// fault, and the directory appears either completely or not at all.
func TestAssemble(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.Expect(crawltest.Expect{Delay: time.Second, Agent: "amble", Contact: segmentContact})
		c, dir := segmentConfig(t), t.TempDir()
		a := &job.Assembly{Config: c, Of: "cluster job test", MaxSkew: time.Second}
		var segments []job.Segment
		nodes := map[string]job.NodeFiles{}
		for i, host := range []string{"https://a.example", "https://b.example"} {
			s := w.Site(host)
			s.Page("/", `<a href="/1">1</a> <a href="/2">2</a>`)
			s.Page("/1", "one "+host)
			s.Page("/2", "two "+host)
			node := filepath.Join(dir, fmt.Sprint("n", i))
			g := crawlSegment(t, w, c, node, i, s.URL("/"))
			if g.Visits != 3 || g.Node != fmt.Sprint("n", i) || g.Clock == nil {
				t.Errorf("segment %+v, want 3 visits, its node and its clock", g)
			}
			a.Seeds = append(a.Seeds, parsed(t, s.URL("/")))
			segments = append(segments, g)
			nodes[g.Node] = job.NodeFiles{Dir: node}
			a.Report.Pages += 3
			for _, name := range []string{job.VisitsName, "warc/" + archives(t, node, i)[0]} {
				grow(t, filepath.Join(node, g.Dir(), filepath.FromSlash(name)))
			}
		}
		a.Report.Finish = crawler.FinishDone
		var err error
		if a.Sources, err = job.Gather(t.Context(), segments, nodes, dir); err != nil {
			t.Fatal(err)
		}
		for _, s := range a.Sources {
			if s.Lacks != "" {
				t.Error(s.Lacks)
			}
		}
		out := filepath.Join(dir, "out")
		assembleInTheWay(t, a, out)
		if err := job.Assemble(out, a); err != nil {
			t.Fatal(err)
		}
		checkAssembled(t, out)
		if err := job.Assemble(out, a); err == nil || !strings.Contains(err.Error(), "is not empty") {
			t.Errorf("again: %v", err)
		}
		missingSegments(t, segments, nodes)
	})
}

// assembleInTheWay checks that Assemble refuses to replace a .part directory that it has not made. It then leaves a directory that looks
// like that of an interrupted Assemble: the caller's next Assemble must replace it.
func assembleInTheWay(t *testing.T, a *job.Assembly, out string) {
	t.Helper()
	part := out + ".part"
	if err := os.MkdirAll(part, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := job.Assemble(out, a); err == nil || !strings.Contains(err.Error(), "is in the way") {
		t.Errorf("a directory of somebody else: %v", err)
	}
	for _, name := range []string{".amble-collect", "visits.jsonl"} {
		if err := os.WriteFile(filepath.Join(part, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// grow appends to a file what a process may have written after its last commit before it was killed.
func grow(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString("{\"url\":\"http://not.committed/\"}\n{\"ur")
	}
	if err != nil || f.Close() != nil {
		t.Fatal(err)
	}
}

func archives(t *testing.T, node string, shard int) (names []string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(node, fmt.Sprint(shard), "1", "warc", "*.warc.gz"))
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	return []string{filepath.Base(all[0])}
}

func checkAssembled(t *testing.T, out string) {
	t.Helper()
	r, err := job.Read(out)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	seen := map[string]int{}
	for v, err := range r.Visits() {
		if err != nil {
			t.Fatal(err)
		}
		seen[v.URL]++
		if v.WARC == nil {
			t.Errorf("%s is in no archive", v.URL)
		}
	}
	if len(seen) != 6 {
		t.Errorf("visits %v, want 6", seen)
	}
	v, err := r.Verify()
	if err != nil || v.Damaged() > 0 || v.Chain.Fault != "" || len(v.Violations) > 0 || v.Matching.Fault() != "" || v.Runs != 2 {
		t.Errorf("verify: %+v, %v", v, err)
	}
	rep, err := r.Report()
	if err != nil || rep.Pages != 6 || rep.Hosts != 2 || rep.Finish != crawler.FinishDone {
		t.Errorf("report %+v, %v", rep, err)
	}
	if s, err := r.Explain(parsed(t, "https://b.example/2")); err != nil || s.Visit == nil || len(s.Requests) == 0 || len(s.Chain) != 2 {
		t.Errorf("explain: %+v, %v", s, err)
	}
	if _, err := os.Stat(out + ".part"); !os.IsNotExist(err) {
		t.Errorf("the directory in the making: %v", err)
	}
	if c, err := r.Config(); err != nil {
		t.Error(err)
	} else if _, err := job.Resume(out, c, []string{"https://a.example/", "https://b.example/", "https://a.example/new"}); err == nil || !strings.Contains(err.Error(), "resume the job of the cluster") {
		t.Errorf("resumed: %v", err)
	}
}

// missingSegments checks that a segment that is short, changed or missing is named, with its node and number of visits.
func missingSegments(t *testing.T, segments []job.Segment, nodes map[string]job.NodeFiles) {
	t.Helper()
	visits := filepath.Join(nodes["n0"].Dir, segments[0].Dir(), job.VisitsName)
	if err := os.Truncate(visits, 10); err != nil {
		t.Fatal(err)
	}
	delete(nodes, "n1")
	sources, err := job.Gather(t.Context(), segments, nodes, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"shard 0, epoch 1: node n0", "shard 1, epoch 1: the directory of node n1"} {
		if what := sources[i].Lacks; !strings.HasPrefix(what, want) || !strings.HasSuffix(what, ": 3 visits") {
			t.Errorf("%q, want %q and 3 visits", what, want)
		}
	}
}

// TestSharedSettings checks that for each setting that a job of several machines cannot have, the error names the setting.
func TestSharedSettings(t *testing.T) {
	for key, value := range map[string]string{
		"cookies": "true", "sign": "folder", "source-address": "127.0.0.2", "header": "X-Token: s3cret",
		"proxy": "http://u:s3cret@127.0.0.1:1/",
	} {
		c, err := job.Settings{{Name: "contact", Values: []string{segmentContact}}, {Name: key, Values: []string{value}}}.Config()
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Shared([]weburl.URL{parsed(t, "https://site.to.crawl/")})
		if err == nil || !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "not possible in a cluster job") || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", key, err)
		}
	}
	c := segmentConfig(t)
	c.Header = []string{"X-Token: env:HOME"}
	text, err := c.File([]weburl.URL{parsed(t, "https://site.to.crawl/")})
	if err != nil {
		t.Fatal(err)
	}
	f, err := job.ParseFile("settings", text)
	if err != nil || len(f.URLs()) != 1 {
		t.Fatal(f, err)
	}
	all, err := f.Settings()
	if err != nil {
		t.Fatal(err)
	}
	again, err := all.Config()
	if err != nil || !again.Archive || len(again.Header) != 1 || again.Crawl.Politeness.Delay != time.Second {
		t.Errorf("read again: %+v, %v", again, err)
	}
}
