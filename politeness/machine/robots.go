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
	droppedName = "robots-dropped"    // records the latest time of a file removed for lack of space
	robotsMax   = 64 << 20            // maximum size of all robots.txt files in bytes; the oldest are removed
	robotsLong  = 2 << 20             // maximum size of one file in bytes
	robotsValid = 30 * 24 * time.Hour // maximum age of a file
)

func (m *Hosts) robotsPath(key politeness.RobotsKey) string {
	sum := sha256.Sum256([]byte(key.Origin + "\n" + key.Account))
	return filepath.Join(m.dir, robotsName, hex.EncodeToString(sum[:16]))
}

// Robots implements [politeness.Sharing]. It reads a file, unless a crawl of the process has the response.
func (m *Hosts) Robots(key politeness.RobotsKey) (politeness.RobotsFile, bool) {
	if f, ok := m.Hosts.Robots(key); ok || m.NotShared() != nil {
		return f, ok
	}
	f, ok := politeness.DecodeRobotsFile(readOwn(m.robotsPath(key)), key)
	now := time.Now()
	if !ok || f.Fetched.After(now) || !f.Until.After(now) {
		return politeness.RobotsFile{Fetched: readDropped(m.dir)}, false // the crawl requests the file and overwrites the stored one
	}
	return f, true
}

// readOwn returns the text of a file, or nil if it cannot be read or belongs to another user.
func readOwn(path string) []byte {
	in, err := safefile.OpenOwn(path)
	if err != nil {
		return nil
	}
	defer func() { _ = in.Close() }() // only read, so an error of closing loses nothing
	b, err := safefile.ReadAll(in, in.Name(), robotsLong)
	if err != nil {
		return nil
	}
	return b
}

// readDropped returns the latest time of a file that was removed for lack of space, zero if none was.
func readDropped(dir string) (at time.Time) {
	_ = at.UnmarshalText(readOwn(filepath.Join(dir, droppedName))) // an error leaves the time zero
	return at
}

// noteDropped records that files up to a time may have been removed for lack of space.
func noteDropped(dir string, at time.Time) {
	if b, err := at.MarshalText(); err == nil && at.After(readDropped(dir)) {
		_ = replace(filepath.Join(dir, droppedName), b) // if this fails, the joint check reports that a file was requested again
	}
}

// KeepRobots implements [politeness.Sharing]. A file that cannot be written is requested again by other processes.
func (m *Hosts) KeepRobots(key politeness.RobotsKey, f politeness.RobotsFile) {
	m.Hosts.KeepRobots(key, f)
	if m.NotShared() != nil {
		return
	}
	b := f.Encode(key)
	if len(b) > robotsLong {
		noteDropped(m.dir, f.Fetched)
		return
	}
	m.mu.Lock()
	prune := m.kept == 0 || m.kept > robotsMax/4
	if prune {
		m.kept = 0
	}
	m.kept += int64(len(b))
	m.mu.Unlock()
	if prune {
		pruneRobots(m.dir)
	}
	_ = replace(m.robotsPath(key), b) // on error the file is requested again
}

// pruneRobots removes the oldest files of a state directory until the others have no more than three quarters of the limit.
func pruneRobots(state string) {
	dir := filepath.Join(state, robotsName)
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
	var dropped time.Time
	for _, info := range files {
		old := time.Since(info.ModTime())
		if size <= robotsMax/4*3 && old < robotsValid && (old < time.Hour || !strings.HasPrefix(info.Name(), tempPrefix)) {
			continue
		}
		if os.Remove(filepath.Join(dir, info.Name())) != nil {
			continue
		}
		if size -= info.Size(); !strings.HasPrefix(info.Name(), tempPrefix) {
			dropped = info.ModTime() // also if the file had expired: a date too late does no harm
		}
	}
	noteDropped(state, dropped)
}
