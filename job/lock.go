package job

import (
	"encoding/json"
	"errors"
	"os"
	"time"
)

// holder is the process that works on a job directory, as recorded in its lock file.
type holder struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
}

// lockJob locks the directory until closeLocked closes the returned file.
func (d jobFiles) lockJob() (*os.File, error) {
	f, err := d.openLocked(lockName)
	if errors.Is(err, ErrHeld) {
		return nil, d.heldBy()
	}
	if err != nil {
		return nil, outputError(err)
	}
	host, _ := os.Hostname() // "" if it is not known
	b, err := json.Marshal(holder{os.Getpid(), host, time.Now().UTC()})
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(append(b, '\n'), 0)
	}
	if err != nil {
		return nil, errors.Join(outputError(err), d.closeLocked(f))
	}
	return f, nil
}

func (d jobFiles) held(format string, args ...any) error {
	return refusedAs(ErrHeld, "job %s is being worked on by "+format, append([]any{d.root.Name()}, args...)...)
}

// heldBy returns an error that names the process that works on the directory.
func (d jobFiles) heldBy() error {
	var h holder
	b, err := d.read(lockName)
	if err == nil {
		err = json.Unmarshal(b, &h)
	}
	if err != nil || h.PID == 0 {
		return d.held("another process: wait for its end")
	}
	return d.held("process %d on %s since %s: wait for its end, or stop it and all that it works on: kill -INT %d",
		h.PID, h.Host, h.Since.Format(time.RFC3339), h.PID)
}
