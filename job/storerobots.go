package job

import (
	"context"
	"io/fs"
	"path"
	"slices"
)

// storeRobotsAgain does so as often as the queue is stored, and when the crawl is paused: it looks at each file.
func (u *uploads) storeRobotsAgain(ctx context.Context) error {
	if !u.waits() && !u.due() {
		return nil
	}
	return u.storeRobots(ctx)
}

// storeRobots stores the oldest bodies of robots.txt files, and removes them from the directory, when its results and they exceed what
// may stay, or the crawl is paused for want of space. From then on they are read from the store.
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
		if u.j.files.root.Remove(name) == nil { // or it stays
			u.gone[name] = true
		}
	}
	return nil
}
