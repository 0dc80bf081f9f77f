package work

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/job"
)

// Allowed lists the files and variables that the settings of a job may make a node read. The zero value allows nothing, because anyone
// who can reach the engine can write a job.
type Allowed struct {
	Env   []string // names of environment variables
	Files []string // paths of files
}

// ErrNotAllowed means that the settings of a job name files or variables that the node does not allow.
var ErrNotAllowed = errors.New("the job's settings name files or variables that this node does not allow")

// NotAllowedError lists the names in the settings of a job that the node does not allow. It wraps [ErrNotAllowed].
type NotAllowedError struct {
	Job     string
	Refused []job.Outside
}

// Error names the job, and the files and variables that are refused.
func (e *NotAllowedError) Error() string {
	var refused []string
	for _, x := range e.Refused {
		refused = append(refused, x.String())
	}
	return fmt.Sprintf("job %s: %v: %s", e.Job, ErrNotAllowed, strings.Join(refused, "; "))
}

// Unwrap returns [ErrNotAllowed].
func (e *NotAllowedError) Unwrap() error { return ErrNotAllowed }

// check returns a *NotAllowedError with all names in the settings that a does not allow, nil if there are none.
func (a Allowed) check(name string, c *job.Config) error {
	var refused []job.Outside
	for _, x := range c.Outside() {
		if !a.allows(x) && !slices.Contains(refused, x) {
			refused = append(refused, x)
		}
	}
	if len(refused) == 0 {
		return nil
	}
	return &NotAllowedError{name, refused}
}

// allows reports whether jobs may use x. Jobs may never choose the browser to start.
func (a Allowed) allows(x job.Outside) bool {
	switch x.Kind {
	case job.OutsideVariable:
		return slices.Contains(a.Env, x.Name)
	case job.OutsideFile:
		return slices.ContainsFunc(a.Files, func(path string) bool { return samePath(path, x.Name) })
	}
	return false
}

// samePath reports whether two paths are equal as absolute paths. Links are not followed.
func samePath(a, b string) bool {
	a, err := filepath.Abs(a)
	b, err2 := filepath.Abs(b)
	return err == nil && err2 == nil && a == b
}
