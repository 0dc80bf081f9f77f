package chromium

import "errors"

// Codes of [Error].
const (
	reasonBrowser   = "render_browser"
	reasonIsolation = "render_isolation"
)

// Error reports that nothing can be rendered, and what to do about it. Its reasons are stable across versions:
//
//	render_browser    there is no usable browser
//	render_isolation  the browser cannot be kept from the network
type Error struct {
	Reason string // stable code
	Text   string // a sentence for a person
	Err    error  // the cause; nil if there is none
}

func (e *Error) Error() string {
	s := "render: " + e.Text
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// Errors of Round.
var (
	// ErrClosed means that the Renderer was closed.
	ErrClosed = errors.New("render: the renderer is closed")
	// ErrTask means that the Task has no URL or no Have.
	ErrTask = errors.New("render: a Task needs a URL and Have")
)

// How a page ends before its time. They do not leave the package.
var (
	errCrashed = errors.New("render: the page or its browser crashed")
	errMemory  = errors.New("render: the page took too much memory")
	errFlood   = errors.New("render: the page sent too much to look at")
	errStuck   = errors.New("render: the page does not react")
	errLeft    = errors.New("render: the document was replaced")
	errShown   = errors.New("render: the browser does not show the document")
)
