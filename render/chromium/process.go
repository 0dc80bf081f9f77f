package chromium

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a browser's first process, and our ends of its two pipes.
type process struct {
	cmd     *exec.Cmd
	in      *os.File // commands to the browser
	out     *os.File // what it sends
	profile *profile
	said    *tail         // the end of its standard error
	gone    chan struct{} // closed when it was waited for
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
	p.cmd.ExtraFiles = []*os.File{theirIn, theirOut} // descriptors 3 and 4
	p.cmd.Stderr = p.said
	p.cmd.WaitDelay = time.Second // for a child that keeps standard error open, where there are no namespaces
	if err = confine(p.cmd, iso, as); err == nil {
		err = p.launch()
	}
	if err != nil {
		closeAll(in, out)
		return startError(path, iso, err)
	}
	return nil
}

// launch starts the process and waits for it in a goroutine that keeps its thread: the kernel kills the browser
// when the thread that started it ends (prctl(2), PR_SET_PDEATHSIG). The goroutine ends with the process; end
// awaits it.
func (p *process) launch() error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // however it ended, it is gone
			close(p.gone)
		}
	}()
	return <-started
}

// end kills the browser, waits for it and removes what it leaves.
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

// environment is all that a browser learns of ours.
func environment(home string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TZ=UTC", "HOME=" + home, "TMPDIR=" + home,
		// Sockets in the file system are no network, but somebody listens there.
		"DBUS_SESSION_BUS_ADDRESS=disabled:", "DBUS_SYSTEM_BUS_ADDRESS=disabled:",
	}
}

// startError says what to do about a browser that did not start.
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

// tail keeps the end of what is written to it.
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

// String is the last lines, for a person.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.b)), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], " | ")
}
