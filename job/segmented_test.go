package job

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/politeness/audit"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

func TestSegmentNames(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{1: "visits.jsonl", 2: "visits-000002.jsonl", 1234567: "visits-1234567.jsonl"} {
		name := segmentName(VisitsName, n)
		if whole, m := segmentOf(name); name != want || whole != VisitsName || m != n {
			t.Errorf("segment %d is %s: %s, %d", n, name, whole, m)
		}
	}
	for _, name := range []string{"visits-000001.jsonl", "visits-2.jsonl", "visits-0000002.jsonl", "visits--00002.jsonl", "hosts-000002.csv", "items-000002.csv", "-000002", "visits-000002.jsonl.new"} {
		if whole, n := segmentOf(name); whole != name || n != 1 {
			t.Errorf("%s is segment %d of %s", name, n, whole)
		}
	}
}

// A file in segments contains the same as a single file would, whenever its process is killed: after a restart it is cut back to the last
// commit. A segment that a commit has closed never changes.
func TestSegmentsAreOneFile(t *testing.T) {
	t.Parallel()
	n := 0
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 1))
		d, queue := tempJob(t), map[string][]byte{}
		committed := map[string]int64{}
		want := map[string][]byte{VisitsName: {}, LedgerName: {}}
		closed := map[string][]byte{}
		limit := 1 + rng.Int64N(300)
		for process := range 6 {
			c := &commits{files: d, extents: map[string]extent{}, size: limit}
			for name, value := range queue {
				if strings.HasPrefix(name, keyExtent) {
					check(t, c.read(name, value))
				}
			}
			lines, size, err := c.keepLines(LedgerName)
			check(t, err)
			if size != int64(len(want[LedgerName])) {
				t.Fatalf("seed %d, process %d: the ledger has %d bytes, want %d", seed, process, size, len(want[LedgerName]))
			}
			f, err := c.keep(VisitsName)
			check(t, err)
			visits, err := sink.AppendLines(f, f.Name(), func(b []byte, r *sink.Record) ([]byte, error) { return append(b, r.URL...), nil })
			check(t, err)
			check(t, visits.Restore(t.Context(), committed[VisitsName]))
			want[VisitsName] = want[VisitsName][:committed[VisitsName]]
			for range rng.IntN(8) {
				for range rng.IntN(4) {
					line := fmt.Sprintf("visit %d %s\n", rng.Int(), strings.Repeat("v", rng.IntN(90)))
					check(t, visits.Append(t.Context(), &sink.Record{URL: line}))
					want[VisitsName] = append(want[VisitsName], line...)
				}
				request := func() {
					line := fmt.Sprintf("request %d %s\n", rng.Int(), strings.Repeat("l", rng.IntN(90)))
					_, err := lines.Write([]byte(line))
					check(t, err)
					want[LedgerName] = append(want[LedgerName], line...)
				}
				for range rng.IntN(4) {
					request()
				}
				at, err := visits.Sync(t.Context())
				check(t, err)
				values, err := c.values()
				check(t, err)
				if rng.IntN(6) == 0 { // kill the process before the commit is durable
					for range rng.IntN(3) {
						request()
					}
					break
				}
				committed[VisitsName] = at
				for name, value := range values {
					queue[name] = value
					var e extent
					if file, ok := strings.CutPrefix(name, keyExtent); ok && json.Unmarshal(value, &e) == nil && e.Closed {
						closed[file] = must(os.ReadFile(d.path(file)))
					}
				}
			}
			if got := must(io.ReadAll(lines.Reader())); !bytes.Equal(got, want[LedgerName]) {
				t.Fatalf("seed %d, process %d: the ledger is read as %q, want %q", seed, process, got, want[LedgerName])
			}
			check(t, errors.Join(visits.Close(t.Context()), lines.Close()))
			if rng.IntN(3) == 0 { // leave an incomplete line
				names := must(d.segments(LedgerName))
				last := must(os.OpenFile(d.path(names[len(names)-1]), os.O_APPEND|os.O_WRONLY, 0))
				if _, isClosed := closed[names[len(names)-1]]; !isClosed {
					must(last.WriteString("torn"))
				}
				check(t, last.Close())
			}
		}
		for name, text := range want {
			in := must(d.stream(name))
			got := must(io.ReadAll(in))
			at := rng.Int64N(int64(len(got)) + 1)
			part := must(io.ReadAll(io.NewSectionReader(in, at, 100)))
			check(t, in.Close())
			if !bytes.HasPrefix(got, text) || strings.Trim(string(got[len(text):]), "torn") != "" && name == LedgerName || !bytes.Equal(part, got[at:min(at+100, int64(len(got)))]) {
				t.Fatalf("seed %d: %s is %q, want %q", seed, name, got, text)
			}
		}
		n += len(closed)
		for name, text := range closed {
			if got := must(os.ReadFile(d.path(name))); !bytes.Equal(got, text) {
				t.Fatalf("seed %d: the closed segment %s was changed to %q from %q", seed, name, got, text)
			}
		}
		r := &records{files: map[string][]known{}}
		for name, value := range queue {
			check(t, r.add(name, value))
		}
		for _, c := range must(d.check(r)) {
			if c.Damage != "" {
				t.Fatalf("seed %d: %+v", seed, c)
			}
		}
	}
	if n < 500 {
		t.Errorf("%d segments were closed", n)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// inSegmentsOf returns the directory and the seed of a job whose files consist of many segments.
func inSegmentsOf(t *testing.T) (dir, seed string) {
	t.Helper()
	dir, seed, _ = recordedWith(t, Config{SegmentSize: 2000, Links: true})
	if n := len(segmentsIn(t, dir, LedgerName)); n < 3 {
		t.Fatalf("the ledger has %d segments", n)
	}
	return dir, seed
}

func segmentsIn(t *testing.T, dir, name string) []string {
	t.Helper()
	d, err := openJobFiles(dir)
	check(t, err)
	defer d.close()
	return must(d.segments(name))
}

// All readers find the same in a job whose files are in segments as in a job with whole files.
func TestReadersReadSegmentsAsOneFile(t *testing.T) {
	t.Parallel()
	dir, seed := inSegmentsOf(t)
	whole := filepath.Join(t.TempDir(), "whole")
	check(t, os.CopyFS(whole, os.DirFS(dir)))
	texts := map[string]string{}
	for _, name := range []string{VisitsName, LedgerName, LinksName} {
		var all []byte
		for _, segment := range segmentsIn(t, dir, name) {
			all = append(all, must(os.ReadFile(filepath.Join(dir, segment)))...)
			check(t, os.Remove(filepath.Join(whole, segment)))
		}
		texts[name] = string(all)
		check(t, os.WriteFile(filepath.Join(whole, name), all, 0o600))
	}
	look := func(dir string) (found [][]byte) {
		r := must(Read(dir))
		defer r.Close()
		add := func(v any, err error) {
			check(t, err)
			found = append(found, bytes.ReplaceAll(must(json.Marshal(v)), []byte(dir), []byte("DIR")))
		}
		add(r.Facts())
		add(r.Explain(must(weburl.Parse(seed))))
		add(r.Explain(must(weburl.Parse(seed + "moved"))))
		for _, c := range []*Reader{r, must(r.Committed())} {
			for _, name := range inSegments[:3] {
				in := must(c.Open(name))
				found = append(found, must(io.ReadAll(in)))
				check(t, in.Close())
			}
		}
		for v, err := range r.Visits() {
			add(v, err)
		}
		for e, err := range r.Ledger() {
			add(e, err)
		}
		for l, err := range r.Links() {
			add(l, err)
		}
		f := r.Follow()
		check(t, f.Poll(func(e *ledger.Entry) { add(e, nil) }, func(v *sink.Record) { add(v, nil) }))
		if states, err := r.HostStates(); err != nil {
			t.Error(err)
		} else {
			add(states(must(weburl.Parse(seed)).Host()), nil)
		}
		past := must(readSince(dir))
		add(reflect.ValueOf(past).Elem().FieldByName("pages").Len(), nil)
		past = must(readSince(filepath.Join(dir, VisitsName)))
		add(reflect.ValueOf(past).Elem().FieldByName("pages").Len(), nil)
		return found
	}
	got, want := look(dir), look(whole)
	if len(got) != len(want) {
		t.Fatalf("%d answers, want %d", len(got), len(want))
	}
	n := 0
	for i := range got {
		if !bytes.Equal(got[i], want[i]) {
			t.Errorf("%.300s\nwant\n%.300s", got[i], want[i])
		}
		for _, text := range texts {
			if string(got[i]) == text {
				n++
			}
		}
	}
	if n != 2*len(texts) {
		t.Errorf("%d files were read as they are together, want %d", n, 2*len(texts))
	}
	r := must(Read(dir))
	defer r.Close()
	check(t, r.WriteSums())
	v, err := r.Verify()
	check(t, err)
	if v.Damaged() > 0 || v.Chain.Fault != "" || v.Matching.Fault() != "" || len(v.Report.Violations) > 0 || v.Chain.Lines != int64(strings.Count(texts[LedgerName], "\n")) {
		t.Errorf("%+v", v)
	}
	sums := string(must(os.ReadFile(filepath.Join(dir, SumsName))))
	for _, name := range segmentsIn(t, dir, LedgerName) {
		if !strings.Contains(sums, "  "+name+"\n") {
			t.Errorf("%s is not in %s", name, SumsName)
		}
	}
}

// If a closed segment was changed, truncated, extended or removed, it is reported by name as damaged, even when the job is resumed.
func TestDamagedSegmentIsFound(t *testing.T) {
	t.Parallel()
	dir, _ := inSegmentsOf(t)
	for name, spoil := range map[string]func(b []byte) []byte{
		"a changed byte": func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"a line less":    func(b []byte) []byte { return b[:bytes.LastIndexByte(b[:len(b)-1], '\n')+1] },
		"a line more":    func(b []byte) []byte { return append(b, b[bytes.LastIndexByte(b[:len(b)-1], '\n')+1:]...) },
		"missing":        func([]byte) []byte { return nil },
	} {
		for _, file := range []string{VisitsName, LedgerName, segmentName(LedgerName, 2)} {
			bad := filepath.Join(t.TempDir(), "job")
			check(t, os.CopyFS(bad, os.DirFS(dir)))
			path := filepath.Join(bad, file)
			b := spoil(must(os.ReadFile(path)))
			check(t, os.Remove(path))
			if b != nil {
				check(t, os.WriteFile(path, b, 0o600))
			}
			r := must(Read(bad))
			v, err := r.Verify()
			check(t, r.Close())
			if err != nil || v.Damaged() != 1 {
				t.Errorf("%s, %s: %+v, %v", file, name, v, err)
				continue
			}
			for _, c := range v.Files {
				if c.Damage != "" && c.File != file {
					t.Errorf("%s, %s: %+v", file, name, c)
				}
			}
			c := &commits{files: must(openJobFiles(bad)), extents: map[string]extent{}}
			m := must(readManifest(bad))
			for name, fact := range m.Outputs {
				c.extents[name] = extent{Bytes: fact.Bytes, SHA256: fact.SHA256}
			}
			whole, _ := segmentOf(file)
			f, err := c.keep(whole)
			if (err == nil) != (name == "a changed byte") || err != nil && !strings.Contains(err.Error(), file) {
				t.Errorf("%s, %s: %v", file, name, err)
			}
			if err == nil {
				check(t, f.Close())
			}
			check(t, c.files.close())
		}
	}
}

// TestOrderOfShardThatHadEnded checks from what time on a ledger is judged by an order: from when a shard is known to have applied it. A
// shard whose last commit was long before the order has no influence.
func TestOrderOfShardThatHadEnded(t *testing.T) {
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	segment := func(shard int, stored time.Time, obeyed ...Obeyed) Source {
		return Source{Segment: Segment{Shard: shard, Epoch: 1, Stored: stored, Obeyed: obeyed}}
	}
	a := assembler{Assembly: &Assembly{
		MaxSkew: time.Second,
		Orders:  []Change{{Key: ActionRetry, At: at}},
		Sources: []Source{
			segment(0, at.Add(-time.Hour)), // the shard had ended before the order
			segment(1, at.Add(time.Hour), Obeyed{0, at.Add(-time.Hour)}, Obeyed{1, at.Add(2 * time.Second)}),
			segment(2, at.Add(5*time.Second)), // the shard may have applied the order after its last commit
			segment(3, time.Time{}),           // written by an earlier version
		},
	}}
	var c audit.Config
	a.ordered(&c)
	if want := at.Add(time.Second); len(c.Forgiven) != 1 || !c.Forgiven[0].Equal(want) {
		t.Errorf("hosts are tried again from %v, want %v", c.Forgiven, want)
	}
	if first, last, ok := a.inForce(1); !ok || !first.Equal(at.Add(2*time.Second)) || !last.Equal(at.Add(65*time.Second)) {
		t.Errorf("applied from %v to %v, %v", first, last, ok)
	}
}
