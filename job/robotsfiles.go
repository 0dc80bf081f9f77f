package job

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/internal/jsonl"
	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/politeness/ledger"
)

// robotsKeeper stores every response to a request for a robots.txt, as evidence of the rules that a crawl obeyed: one line per response
// in index.jsonl, and each distinct body once, named by its hash.
type robotsKeeper struct {
	dir plainDir

	mu    sync.Mutex
	index *ledger.File // only complete lines, as in a ledger
}

const indexName = "index.jsonl"

// RobotsAnswer is an answer to a request for a robots.txt, a line of robots/index.jsonl.
type RobotsAnswer struct {
	URL       string `json:"url"`
	Status    int    `json:"status"`
	Fetched   string `json:"fetched"`             // when the response was complete, RFC 3339 with microseconds
	Bytes     int    `json:"bytes"`               // size of the body
	Truncated string `json:"truncated,omitempty"` // why the body is incomplete
	SHA256    string `json:"sha256"`              // hash of the body, hexadecimal: see [Reader.RobotsBody]
	File      string `json:"file,omitempty"`      // file with the body, in the directory of the index; "" if the body was empty
}

func newRobotsKeeper(c *commits) (*robotsKeeper, error) {
	dir, err := c.files.sub(robotsName)
	if err != nil {
		return nil, err
	}
	index, _, err := c.keepLines(path.Join(robotsName, indexName))
	if err != nil {
		return nil, errors.Join(err, dir.close())
	}
	return &robotsKeeper{dir: dir, index: index}, nil
}

// keep stores one response.
func (k *robotsKeeper) keep(p *fetcher.Page) error {
	sum := sha256.Sum256(p.Body)
	line := RobotsAnswer{
		URL: p.URL.String(), Status: p.Status, Fetched: p.Ended.UTC().Format(jsonl.TimeForm), Bytes: len(p.Body), Truncated: p.Truncated,
		SHA256: hex.EncodeToString(sum[:]),
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(p.Body) > 0 {
		line.File = line.SHA256 + ".txt"
		if err := k.dir.writeOnce(line.File, p.Body); err != nil {
			return outputError(err)
		}
	}
	return outputError(cli.PrintJSON(k.index, line))
}

// writeOnce atomically writes a file that is named by the hash of its contents, unless it exists.
func (d plainDir) writeOnce(name string, body []byte) error {
	info, err := d.root.Lstat(name)
	switch {
	case err == nil:
		return d.checkKind(name, info.Mode(), false)
	case !errors.Is(err, fs.ErrNotExist):
		return d.named("open", name, err)
	}
	return d.replace(name, body)
}

// isRobotsBody reports whether a file name is the name of a body.
func isRobotsBody(name string) bool {
	sum, ok := strings.CutSuffix(name, ".txt")
	return ok && isSHA256(sum)
}

func isSHA256(s string) bool {
	return len(s) == 2*sha256.Size && strings.Trim(s, "0123456789abcdef") == ""
}

// robotsBody reads a stored body.
func (d jobFiles) robotsBody(sha256 string) ([]byte, error) {
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	if sha256 == empty {
		return nil, nil
	}
	if !isSHA256(sha256) {
		return nil, errors.New("not a SHA-256 hash")
	}
	name := filepath.Join(robotsName, sha256+".txt")
	b, err := d.read(name)
	if errors.Is(err, safefile.ErrTooLong) {
		if most := d.maxRobots(); most > safefile.Settings {
			return d.readUpTo(name, most)
		}
	}
	return b, err
}

// maxRobots returns the largest value that max-robots had in the job, 0 if unknown.
func (d jobFiles) maxRobots() (most int64) {
	m, err := readManifest(d.root.Name())
	if err != nil || m == nil {
		return 0
	}
	key := KeyNamed("max-robots")
	values := []string{m.Settings[key.Name]}
	for _, r := range m.Runs {
		for _, c := range r.Changes {
			if c.Key == key.Name {
				values = append(values, c.From)
			}
		}
	}
	for _, v := range values {
		var c Config
		if key.set(&c, &Setting{Name: key.Name, Values: []string{v}}) == nil {
			most = max(most, int64(c.Crawl.Fetch.MaxRobots))
		}
	}
	return most
}

// Close closes the index.
func (k *robotsKeeper) Close() error { return errors.Join(k.index.Close(), k.dir.close()) }

// storeRobotsAgain calls storeRobots when the queue is stored and when the crawl is paused, not
// more often, because storeRobots looks at each file.
func (u *uploads) storeRobotsAgain(ctx context.Context) error {
	if !u.waits() && !u.due() {
		return nil
	}
	return u.storeRobots(ctx)
}

// storeRobots stores the oldest bodies of robots.txt files and removes them from the directory, if they and the results exceed their
// limit, or the crawl is paused for lack of space. From then on they are read from the store.
func (u *uploads) storeRobots(ctx context.Context) error {
	u.busy.Lock()
	defer u.busy.Unlock()
	u.mu.Lock()
	excess, paused := u.held-u.keep(), u.paused
	u.mu.Unlock()
	if !paused && u.j.config.KeepLocal <= 0 {
		return nil
	}
	entries, err := u.j.files.list(robotsName)
	if err != nil {
		return outputError(err)
	}
	var bodies []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && isRobotsBody(e.Name()) && info.Mode().IsRegular() {
			bodies = append(bodies, info)
			excess += info.Size()
		}
	}
	slices.SortFunc(bodies, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	var names []string
	for _, b := range bodies {
		if !paused && excess <= 0 {
			break
		}
		names = append(names, path.Join(robotsName, b.Name()))
		excess -= b.Size()
	}
	if len(names) == 0 {
		return nil
	}
	if err := u.ours(ctx); err != nil {
		return err
	}
	if err := u.put(ctx, names, nil); err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, name := range names {
		if u.j.files.root.Remove(name) == nil { // a file that cannot be removed stays in the directory
			u.gone[name] = true
		}
	}
	return nil
}
