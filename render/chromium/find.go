package chromium

import (
	"os/exec"
	"path/filepath"
	"strings"
)

// usual are the names of browsers, best first. The headless shell needs a third of the memory of a whole browser, is
// faster, and draws its frames when it is told to.
var usual = []string{
	"chromium-headless-shell", "chrome-headless-shell", "headless_shell", "chromium", "chromium-browser", "google-chrome",
}

// Find returns the path of a browser: the one named, a path or a name in PATH, or if name is "" the first of the
// usual ones. The error is an *Error with reasonBrowser that says what was looked for and what to install.
func Find(name string) (string, error) {
	list := usual
	if name != "" {
		list = []string{name}
	}
	var last error
	for _, n := range list {
		p, err := exec.LookPath(n)
		if err == nil {
			return filepath.Abs(p)
		}
		last = err
	}
	if name != "" {
		return "", &Error{reasonBrowser, "the browser " + name + " cannot be started; name one that is there, or none", last}
	}
	return "", &Error{Reason: reasonBrowser, Text: "no browser found: looked in PATH for " + strings.Join(list, ", ") +
		"; install Debian's chromium-headless-shell or chromium, or name a browser by its path"}
}
