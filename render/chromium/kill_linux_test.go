package chromium_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/render"
	"github.com/amble-crawler/amble/render/chromium"
	"github.com/amble-crawler/amble/render/rendertest"
)

// when returns a function that calls f when a path is requested for the nth time.
func when(path string, n int, f func()) func(string) {
	return func(p string) {
		if p == path {
			if n--; n == 0 {
				f()
			}
		}
	}
}

func kill(t *testing.T, pids ...int) {
	t.Helper()
	if len(pids) == 0 {
		t.Error("nothing to kill")
	}
	for _, p := range pids {
		if err := syscall.Kill(p, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
}

// renderers returns the processes of browsers that run pages.
func renderers(r *chromium.Renderer) []int {
	var found []int
	todo := r.Processes()
	for len(todo) > 0 {
		pid := todo[0]
		todo = append(todo[1:], children(pid)...)
		if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); bytes.Contains(line, []byte("--type=renderer")) {
			found = append(found, pid)
		}
	}
	return found
}

func children(pid int) []int {
	var list []int
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		b, _ := os.ReadFile(task)
		for _, f := range strings.Fields(string(b)) {
			n, _ := strconv.Atoi(f)
			list = append(list, n)
		}
	}
	return list
}

func TestBrowserKilledInMidPage(t *testing.T) {
	t.Parallel()
	r := rendertest.Configured(t, chromium.Config{Tabs: 1})
	s := newSite(t, app)
	s.before = when("/api", 1, func() { kill(t, r.Processes()...) })
	if res := s.page(r, "/", render.Policy{}); !bytes.Contains(res.DOM, []byte("rendered")) || res.Cut != "" {
		t.Errorf("killed once: %q %s", res.Cut, res.DOM)
	}
	s.alone()
}

// A browser that ends between two pages does not count as a failed attempt at the next page.
func TestBrowserKilledBetweenPages(t *testing.T) {
	t.Parallel()
	r := rendertest.Configured(t, chromium.Config{Tabs: 1})
	idle := r.Processes()[0]
	kill(t, idle)
	ended(t, pidfd(idle))
	r.AwaitDead(idle)
	once := when("", 1, func() { kill(t, r.Processes()...) })
	if res := crashing(t, r, func() { once("") }); res.Cut != "" || res.DOM == nil {
		t.Errorf("%q %s", res.Cut, res.DOM)
	}
	if n := r.Info().Browsers; n != 1 {
		t.Errorf("%d browsers", n)
	}
}

// crashing renders a page, calls kill at each of its requests, and returns the result.
func crashing(t *testing.T, r *chromium.Renderer, kill func()) *render.Result {
	t.Helper()
	task := render.Task{
		URL: mustParse(t, "http://a.test/"), Document: render.Answer{Status: 200, Header: html, Body: []byte(app["/"])}, Time: fetched,
		Have: func(w render.Want) render.Decision {
			kill()
			return render.Decision{Refuse: "killed"}
		},
	}
	res, err := r.Round(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestBrowserKilledTwice(t *testing.T) {
	t.Parallel()
	r := rendertest.Configured(t, chromium.Config{Tabs: 1})
	before := r.Info().Pages
	res := crashing(t, r, func() { kill(t, r.Processes()...) })
	if res.Cut != render.CutCrashed || res.DOM != nil || r.Info().Pages != before+2 {
		t.Errorf("%+v, %d pages", res, r.Info().Pages-before)
	}
	works(t, r)
}

func TestPageKilledTwice(t *testing.T) {
	t.Parallel()
	r := rendertest.Configured(t, chromium.Config{Tabs: 1})
	browser := fmt.Sprint(r.Processes())
	res := crashing(t, r, func() { kill(t, renderers(r)...) })
	if res.Cut != render.CutCrashed || res.DOM != nil {
		t.Errorf("%+v", res)
	}
	works(t, r)
	if now := fmt.Sprint(r.Processes()); now != browser {
		t.Errorf("browser %s became %s", browser, now)
	}
}

func works(t *testing.T, r *chromium.Renderer) {
	t.Helper()
	s := newSite(t, app)
	if res := s.page(r, "/", render.Policy{}); !bytes.Contains(res.DOM, []byte("rendered")) || res.Cut != "" {
		t.Errorf("afterwards: %q %s", res.Cut, res.DOM)
	}
}

func TestHeap(t *testing.T) {
	r := rendertest.Configured(t, chromium.Config{Tabs: 1, MaxMemory: 300 << 20})
	scripts := map[string]string{
		"numbers": `const a = []; for (;;) a.push(new Array(1e5).fill(0.5));`,
		"buffers": `const a = []; for (;;) a.push(new Uint8Array(1 << 22).fill(1));`,
		"texts":   `for (let i = 0; ; i++) document.body.append("x".repeat(1e5) + i);`,
	}
	if long.Full() { // slow: a small document is compared many times before the page is too large
		scripts["objects"] = `const a = []; for (;;) a.push(new Array(1e5).fill({}));`
		scripts["nodes"] = `for (;;) for (let i = 0; i < 1e4; i++) document.body.append(document.createElement("div"));`
	}
	for name, script := range scripts {
		s := newSite(t, files{"/": `<!doctype html><body><script>` + script + `</script>`})
		res := s.page(r, "/", render.Policy{})
		if res.Cut != render.CutMemory && res.Cut != render.CutCrashed {
			t.Errorf("%s: cut by %q", name, res.Cut)
		}
		t.Log(name, res.Cut)
	}
	works(t, r)
}

// A helper process opens a Renderer, prints its processes and directories, and waits to be killed.
func TestMainWaitsToBeKilled(t *testing.T) {
	if os.Getenv("TEST_RENDER_WAIT") == "" {
		t.Skip("for TestNothingOutlivesUs")
	}
	r := rendertest.Configured(t, chromium.Config{Tabs: 1, TempDir: os.Getenv("TEST_RENDER_WAIT")})
	fmt.Println("browser", r.Processes()[0])
	select {}
}

func TestNothingOutlivesUs(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	if err := openUp(temp); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestMainWaitsToBeKilled$", "-test.v")
	cmd.Env = append(os.Environ(), "TEST_RENDER_WAIT="+temp)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	browser := 0
	lines := bufio.NewScanner(out)
	for browser == 0 && lines.Scan() {
		fmt.Sscanf(lines.Text(), "browser %d", &browser)
		if strings.Contains(lines.Text(), "SKIP") {
			cmd.Wait()
			t.Skip("no browser")
		}
	}
	all := append(descendants(browser), browser)
	var ends []*os.File
	for _, pid := range all {
		if f := pidfd(pid); f != nil {
			ends = append(ends, f)
		}
	}
	if len(ends) < 3 {
		t.Errorf("processes %v", all)
	}
	cmd.Process.Kill()
	cmd.Wait()
	for _, f := range ends {
		ended(t, f)
	}
	if left, _ := filepath.Glob(filepath.Join(temp, "*")); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
	r := rendertest.Configured(t, chromium.Config{Tabs: 1, TempDir: temp})
	if left, _ := filepath.Glob(filepath.Join(temp, "*")); len(left) != 1 || left[0] != r.Homes()[0] {
		t.Errorf("the next process has %v, its own is %v", left, r.Homes())
	}
}

// A helper process starts a browser that does nothing, and waits for it.
func TestMainStartsWhatDoesNothing(t *testing.T) {
	if os.Getenv("TEST_RENDER_NOTHING") == "" {
		t.Skip("for TestHungBrowserDoesNotOutliveUs")
	}
	chromium.New(t.Context(), chromium.Config{Browser: os.Getenv("TEST_RENDER_NOTHING")})
}

// A browser that does not notice the end of its pipe still ends together with this process.
func TestHungBrowserDoesNotOutliveUs(t *testing.T) {
	common.get(t) // skips the test without a browser
	dir := t.TempDir()
	if err := openUp(dir); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(dir, "fifo")
	if err := errors.Join(syscall.Mkfifo(fifo, 0o666), os.Chmod(fifo, 0o666)); err != nil {
		t.Fatal(err)
	}
	path := script(t, "echo up > "+fifo+"; exec sleep 1000")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMainStartsWhatDoesNothing$")
	cmd.Env = append(os.Environ(), "TEST_RENDER_NOTHING="+path)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if up, err := os.ReadFile(fifo); err != nil || string(up) != "up\n" {
		t.Errorf("%q, %v", up, err)
	}
	browsers := children(cmd.Process.Pid)
	if len(browsers) != 1 {
		t.Errorf("processes %v", browsers)
	}
	end := pidfd(browsers[0])
	cmd.Process.Kill()
	cmd.Wait()
	ended(t, end)
}

func descendants(pid int) []int {
	var list []int
	for _, c := range children(pid) {
		list = append(append(list, c), descendants(c)...)
	}
	return list
}

// pidfd returns a file that becomes readable when a process ends (pidfd_open(2)).
func pidfd(pid int) *os.File {
	const pidfdOpen, nonblock = 434, syscall.O_NONBLOCK
	fd, _, errno := syscall.Syscall(pidfdOpen, uintptr(pid), nonblock, 0)
	if errno != 0 {
		return nil
	}
	return os.NewFile(fd, "process "+strconv.Itoa(pid))
}

func ended(t *testing.T, f *os.File) {
	t.Helper()
	defer f.Close()
	f.SetReadDeadline(time.Now().Add(time.Minute))
	c, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = c.Read(func(fd uintptr) bool {
		p := struct {
			fd              int32
			events, revents int16
		}{fd: int32(fd), events: 1}
		n, _, _ := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(unsafe.Pointer(&syscall.Timespec{})), 0, 0, 0)
		return n == 1
	})
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%s lives on", f.Name())
	}
}
