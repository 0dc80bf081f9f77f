package chromium

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is the first process of a browser, and this side of two pipes to it.
type process struct {
	cmd     *exec.Cmd
	in      *os.File // pipe for commands to the browser
	out     *os.File // pipe for messages from the browser
	profile *profile
	said    *tail         // last part of the browser's standard error
	gone    chan struct{} // closed when the process has been waited for
}

// start starts a browser. The caller must end it.
func start(path string, told bool, port int, iso Isolation, temp string) (*process, error) {
	as := browserUser()
	dir, err := newProfile(temp, as)
	if err != nil {
		return nil, err
	}
	p := &process{profile: dir, said: &tail{}, gone: make(chan struct{})}
	if err := p.run(path, flags(dir.home, port, told, iso), iso, as); err != nil {
		_ = dir.remove()
		return nil, err
	}
	return p, nil
}

func (p *process) run(path string, args []string, iso Isolation, as *user) error {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("making the browser's pipes: %w", err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		closeAll(theirIn, in)
		return fmt.Errorf("making the browser's pipes: %w", err)
	}
	defer closeAll(theirIn, theirOut)
	p.in, p.out = in, out
	p.cmd = exec.Command(path, args...) //nolint:noctx // it outlives the round that starts it
	p.cmd.Env = environment(p.profile.home)
	p.cmd.Dir = p.profile.home
	p.cmd.ExtraFiles = []*os.File{theirIn, theirOut} // descriptors 3 and 4 of the browser
	p.cmd.Stderr = p.said
	p.cmd.WaitDelay = time.Second // ends Wait without namespaces, too, where a child process may keep standard error open
	if err = confine(p.cmd, iso, as); err == nil {
		err = p.launch()
	}
	if err != nil {
		closeAll(in, out)
		return startError(path, iso, err)
	}
	return nil
}

// launch starts the process, and waits for it in a goroutine that keeps its thread: the kernel kills the browser when the thread that
// started it ends (prctl(2), PR_SET_PDEATHSIG). The goroutine ends when the process has ended; method end waits for that.
func (p *process) launch() error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // after any error, the process has ended
			close(p.gone)
		}
	}()
	return <-started
}

// end kills the browser, waits until it has ended, and removes its directory.
func (p *process) end() error {
	p.kill()
	<-p.gone
	closeAll(p.in, p.out)
	return p.profile.remove()
}

func (p *process) kill() {
	select {
	case <-p.gone:
	default:
		killAll(p.cmd.Process)
	}
}

// environment returns all environment variables of a browser.
func environment(home string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TZ=UTC", "HOME=" + home, "TMPDIR=" + home,
		// The isolation does not cover Unix sockets, on which programs may listen.
		"DBUS_SESSION_BUS_ADDRESS=disabled:", "DBUS_SYSTEM_BUS_ADDRESS=disabled:",
	}
}

// startError returns the error for a browser that did not start, with advice.
func startError(path string, iso Isolation, err error) error {
	if e, ok := err.(*Error); ok { //nolint:errorlint // confine's own, not wrapped
		return e
	}
	if errors.Is(err, syscall.EACCES) {
		return &Error{reasonBrowser, "the browser " + path + " may not be executed by the user it runs as, " +
			browserUser().String(), err}
	}
	if iso == Namespace {
		return &Error{reasonIsolation, "the browser " + path + " cannot be started in namespaces of its own. If the system" +
			" forbids them (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone," +
			" kernel.apparmor_restrict_unprivileged_userns, a container's seccomp profile), permit them; isolation by flags" +
			" is the weaker alternative", err}
	}
	return &Error{reasonBrowser, "the browser " + path + " cannot be started", err}
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// tail is a writer that keeps the last bytes written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

const maxTail = 4 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b[max(0, len(b)-maxTail):]...)
	t.b = t.b[max(0, len(t.b)-maxTail):]
	return len(b), nil
}

// String returns the last lines, for messages.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.b)), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], " | ")
}

// disabled lists features that make requests by themselves, or that the Renderer cannot observe. They must be in one flag, because only the
// last flag of this name has an effect.
var disabled = []string{
	"ServiceWorkerAutoPreload", "Prerender2", "LoadingPredictor", "MediaRouter", "FedCm", "BackgroundFetch",
	"CompressionDictionaryTransport", "CompressionDictionaryTransportBackend", "Translate", "OptimizationHints",
	"InterestFeedContentSuggestions", "AutofillServerCommunication", "CertificateTransparencyComponentUpdater",
}

// flags returns the arguments of a browser whose profile is in dir. Connections that are not intercepted go to the local port. told makes
// the browser draw frames only on command, which full browsers do not support.
func flags(dir string, port int, told bool, iso Isolation) []string {
	f := []string{
		"--remote-debugging-pipe", "--user-data-dir=" + dir, "--headless", "--no-startup-window",
		"--window-size=1280,800", "--lang=en-US", "--force-color-profile=srgb", "--force-device-scale-factor=1",
		"--disable-gpu", "--hide-scrollbars", "--mute-audio", "--no-first-run", "--no-default-browser-check",
		"--disable-background-networking", "--disable-component-update", "--disable-default-apps",
		"--disable-extensions", "--disable-sync", "--disable-domain-reliability", "--disable-breakpad",
		"--disable-crash-reporter", "--no-pings", "--disable-back-forward-cache", "--disable-field-trial-config",
		"--password-store=basic", "--use-mock-keychain", "--disable-hang-monitor", "--disable-ipc-flooding-protection",
		"--disable-site-isolation-trials", "--disable-popup-blocking", "--disable-background-timer-throttling",
		"--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding",
		"--js-flags=--max-old-space-size=256", "--disable-features=" + strings.Join(disabled, ","),
		// The second protection, and the only one with Flags: connections that are not intercepted go to the port.
		"--proxy-server=socks5://127.0.0.1:" + strconv.Itoa(port), "--proxy-bypass-list=<-loopback>",
		"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1", "--disable-quic", "--dns-prefetch-disable",
		"--force-webrtc-ip-handling-policy", "--webrtc-ip-handling-policy=disable_non_proxied_udp",
	}
	if told {
		// With these flags, a frame is complete when the command that draws it returns, and nothing changes between two frames.
		f = append(f, "--run-all-compositor-stages-before-draw", "--disable-threaded-animation",
			"--disable-threaded-scrolling", "--disable-checker-imaging", "--disable-image-animation-resync",
			"--disable-new-content-rendering-timeout")
	}
	if iso == Namespace {
		f = append(f, "--disable-setuid-sandbox") // the setuid sandbox is not needed where there are namespaces
	}
	if smallShm() {
		f = append(f, "--disable-dev-shm-usage")
	}
	return f
}

// usual lists the names of browsers, best first. The headless shell needs a third of the memory of a full browser, is faster, and draws
// frames on command.
var usual = []string{
	"chromium-headless-shell", "chrome-headless-shell", "headless_shell", "chromium", "chromium-browser", "google-chrome",
}

// Find returns the path of a browser. name is a path or a name in PATH; "": the first of the usual names that is in PATH. The error is an
// *Error with reasonBrowser that lists the names tried, and what to install.
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

// nobody is the user and group ID of browsers started by root.
const nobody = 65534

// user is the user as which a browser runs: nobody, or nil for the present user.
type user struct{ id int }

func browserUser() *user {
	if os.Geteuid() == 0 {
		return &user{nobody}
	}
	return nil
}

func (u *user) String() string {
	if u == nil {
		return strconv.Itoa(os.Geteuid())
	}
	return strconv.Itoa(u.id)
}

// own makes the user the owner of a file.
func (u *user) own(path string) error {
	if u == nil {
		return nil
	}
	return os.Chown(path, u.id, u.id)
}

// reaches reports whether the user can enter a directory and all directories above it.
func (u *user) reaches(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	if u == nil {
		return true
	}
	dir, err = filepath.Abs(dir)
	for err == nil {
		if info, err = os.Stat(dir); err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
		dir = filepath.Dir(dir)
	}
	return false
}
