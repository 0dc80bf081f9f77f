package chromium

import (
	"slices"
	"time"
)

// Processes returns the process ids of the running browsers.
func (r *Renderer) Processes() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	var pids []int
	for _, h := range r.fleet {
		pids = append(pids, h.process.cmd.Process.Pid)
	}
	return pids
}

// Parked returns the number of parked pages.
func (r *Renderer) Parked() int {
	r.stopped.mu.Lock()
	defer r.stopped.mu.Unlock()
	return len(r.stopped.pages)
}

// Homes returns the directories of the running browsers.
func (r *Renderer) Homes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var dirs []string
	for _, h := range r.fleet {
		dirs = append(dirs, h.process.profile.dir)
	}
	return dirs
}

// StuckAfter sets how long running browsers wait for pages that do not respond.
func (r *Renderer) StuckAfter(after time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.fleet {
		h.stuckAfter = after
	}
}

// AwaitDead waits until the Renderer has noticed that a browser's process has ended.
func (r *Renderer) AwaitDead(pid int) {
	r.mu.Lock()
	fleet := slices.Clone(r.fleet)
	r.mu.Unlock()
	for _, h := range fleet {
		if h.process.cmd.Process.Pid == pid {
			<-h.ended
		}
	}
}
