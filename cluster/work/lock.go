package work

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/amble-crawler/amble/internal/filelock"
	"github.com/amble-crawler/amble/internal/safefile"
)

// ErrHeld means that another process uses the directory of a node.
var ErrHeld = errors.New("another process works in the directory of this node")

// lockName is the lock file in a node's directory.
const lockName = "node.lock"

// holder identifies the process that has, or had, the lock of a node's directory.
type holder struct {
	PID     int    `json:"pid"`
	Boot    string `json:"boot"`    // ID of the machine's boot; "" if the system has none
	File    string `json:"file"`    // ID of the lock file; in a copy of the directory it is different
	Process string `json:"process"` // ID of the process in the job: cluster.Config.Process
}

// dirLock is the lock of a node's directory, which the system releases when the process ends, even after a crash.
type dirLock struct {
	file *os.File
	// gone is the ID of the process that held the lock before, if it is proven to have ended. "": its end is not proven.
	gone string
}

// lockDir locks a node's directory for a process. The error is ErrHeld if another process holds the lock.
func lockDir(dir, process string) (*dirLock, error) {
	path := filepath.Join(dir, lockName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	was := readHolder(f, path)
	file, held, err := lockFile(f)
	if held {
		return nil, errors.Join(fmt.Errorf("%w: process %d has locked %s: stop it first, or give this node another name and directory", ErrHeld, was.PID, path), filelock.Close(f))
	}
	if err != nil {
		return nil, errors.Join(err, filelock.Close(f))
	}
	was = readHolder(f, path)                                                   // read again under the lock
	boot, _ := safefile.Read("/proc/sys/kernel/random/boot_id", safefile.Token) // "" on other systems: no proof that a process has ended
	now := holder{os.Getpid(), strings.TrimSpace(string(boot)), file, process}
	l := &dirLock{file: f}
	if now.Boot != "" && now.Boot == was.Boot && file != "" && file == was.File {
		l.gone = was.Process
	}
	b, err := json.Marshal(now)
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(append(b, '\n'), 0)
	}
	if err != nil {
		return nil, errors.Join(err, filelock.Close(f))
	}
	return l, nil
}

// readHolder reads a lock file. It returns the zero value for an empty or damaged file.
func readHolder(f *os.File, path string) (h holder) {
	if _, err := f.Seek(0, 0); err != nil {
		return h
	}
	b, err := safefile.ReadAll(f, path, safefile.Token)
	if err != nil || json.Unmarshal(b, &h) != nil {
		return holder{}
	}
	return h
}
