package work

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/job"
)

// Allowed names what the settings of a job may have a node read. The zero value allows nothing: whoever reaches the engine can
// write a job.
type Allowed struct {
	Env   []string // names of environment variables
	Files []string // paths
}

// ErrNotAllowed says that the settings of a job name what the node does not let jobs read.
var ErrNotAllowed = errors.New("the job would have this node read what it lets no job read")

// check returns an ErrNotAllowed with all that the settings name and a does not.
func (a Allowed) check(name string, c *job.Config) error {
	var refused []string
	for _, x := range c.Outside() {
		if hint := a.refuses(x); hint != "" && !slices.Contains(refused, x.String()+": "+hint) {
			refused = append(refused, x.String()+": "+hint)
		}
	}
	if len(refused) == 0 {
		return nil
	}
	return fmt.Errorf("job %s: %w; to allow it, start the node with the flag that is named: %s", name, ErrNotAllowed, strings.Join(refused, "; "))
}

// refuses returns how x can be allowed, "" if it is.
func (a Allowed) refuses(x job.Outside) string {
	switch x.Kind {
	case job.OutsideVariable:
		if !slices.Contains(a.Env, x.Name) {
			return "--allow-env " + x.Name
		}
	case job.OutsideFile:
		if !slices.ContainsFunc(a.Files, func(path string) bool { return samePath(path, x.Name) }) {
			return "--allow-file " + x.Name
		}
	default:
		return "not on a node"
	}
	return ""
}

// samePath reports whether two paths are the same text once they are absolute. Links are not followed.
func samePath(a, b string) bool {
	a, err := filepath.Abs(a)
	b, err2 := filepath.Abs(b)
	return err == nil && err2 == nil && a == b
}
