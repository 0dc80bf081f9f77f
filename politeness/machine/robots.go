package machine

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/politeness"
)

const (
	robotsName  = "robots"
	robotsMax   = 64 << 20            // bytes of all robots.txt files; the oldest are removed
	robotsLong  = 2 << 20             // bytes of one
	robotsValid = 30 * 24 * time.Hour // after which one is removed
)

func (m *Hosts) robotsPath(key politeness.RobotsKey) string {
	sum := sha256.Sum256([]byte(key.Origin + "\n" + key.Account))
	return filepath.Join(m.dir, robotsName, hex.EncodeToString(sum[:16]))
}

// Robots is that of [politeness.Sharing]. It reads a file, unless a crawl of the process knows the answer.
func (m *Hosts) Robots(key politeness.RobotsKey) (politeness.RobotsFile, bool) {
	if f, ok := m.Hosts.Robots(key); ok || m.NotShared() != nil {
		return f, ok
	}
	in, err := safefile.OpenOwn(m.robotsPath(key))
	if err != nil {
		return politeness.RobotsFile{}, false // nobody has requested it
	}
	defer func() { _ = in.Close() }() // only read
	b, err := safefile.ReadAll(in, in.Name(), robotsLong)
	f, ok := politeness.DecodeRobotsFile(b, key)
	now := time.Now()
	if err != nil || !ok || f.Fetched.After(now) || !f.Until.After(now) {
		return politeness.RobotsFile{}, false // it is requested, and the file written anew
	}
	return f, true
}

// KeepRobots is that of [politeness.Sharing]. A file that cannot be written is requested again by other processes.
func (m *Hosts) KeepRobots(key politeness.RobotsKey, f politeness.RobotsFile) {
	m.Hosts.KeepRobots(key, f)
	if m.NotShared() != nil {
		return
	}
	b := f.Encode(key)
	if len(b) > robotsLong {
		return
	}
	dir := filepath.Join(m.dir, robotsName)
	m.mu.Lock()
	prune := m.kept == 0 || m.kept > robotsMax/4
	if prune {
		m.kept = 0
	}
	m.kept += int64(len(b))
	m.mu.Unlock()
	if prune {
		pruneRobots(dir)
	}
	_ = replace(m.robotsPath(key), b) // or it is requested again
}

// pruneRobots removes the oldest files of a directory until the others have no more than three quarters of the limit.
func pruneRobots(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	var files []fs.FileInfo
	size := int64(0)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files, size = append(files, info), size+info.Size()
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), strings.Compare(a.Name(), b.Name()))
	})
	for _, info := range files {
		old := time.Since(info.ModTime())
		if size <= robotsMax/4*3 && old < robotsValid && (old < time.Hour || !strings.HasPrefix(info.Name(), tempPrefix)) {
			continue
		}
		if os.Remove(filepath.Join(dir, info.Name())) == nil {
			size -= info.Size()
		}
	}
}
