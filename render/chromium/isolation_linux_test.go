package chromium_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/amble-crawler/amble/internal/browsertest"
	"github.com/amble-crawler/amble/render"
	"github.com/amble-crawler/amble/render/chromium"
	"github.com/amble-crawler/amble/render/rendertest"
)

// leaky is a page that tries every way out that is not intercepted as a request, to the given host and port.
const leaky = `<!doctype html><link rel=dns-prefetch href=//leak.test><link rel=preconnect href=//%[1]s><p id=out></p><script>
	const done = []; const note = s => { done.push(s); out.textContent = done.sort().join(" ") };
	for (const scheme of ["ws", "wss"]) new WebSocket(scheme + "://%[1]s/socket").onerror = () => note(scheme);
	const f = document.createElement("iframe"); document.body.append(f);
	for (const w of [window, f.contentWindow]) {
		try { const p = new w.RTCPeerConnection({iceServers: [{urls: "stun:%[1]s"}]}); p.createDataChannel("x"); p.createOffer().then(o => p.setLocalDescription(o)) } catch { note("no-rtc") }
		try { new w.WebTransport("https://%[1]s/") } catch { note("no-transport") }
	}
	new Worker(URL.createObjectURL(new Blob(["new WebSocket('ws://%[1]s/worker').onerror = () => postMessage('worker')"]))).onmessage = e => note(e.data);
	</script><script src=/last.js></script>`

// sent returns the kernel's counters of what the network stack of a process has sent.
func sent(t *testing.T, pid int) map[string]string {
	t.Helper()
	counts := map[string]string{}
	for _, file := range []string{"snmp", "snmp6", "dev"} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, file))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(b), "\n")
		for i, line := range lines {
			f := strings.Fields(line)
			switch {
			case file == "dev" && len(f) == 17 && f[0] == "lo:":
				counts["lo bytes"] = f[9]
			case file == "snmp6" && len(f) == 2:
				counts[f[0]] = f[1]
			case file == "snmp" && i%2 == 1 && i > 0:
				for j, name := range strings.Fields(lines[i-1]) {
					counts[f[0]+name] = f[j]
				}
			}
		}
	}
	return counts
}

// In the namespace, no data leaves any socket: the kernel has sent no packet, not even to loopback.
func TestNothingIsSent(t *testing.T) {
	t.Parallel()
	r := rendertest.Configured(t, chromium.Config{Tabs: 1})
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := newSite(t, files{"/": fmt.Sprintf(leaky, l.Addr()), "/last.js": "1"})
	res := s.page(r, "/", render.Policy{})
	if !strings.Contains(string(res.DOM), "ws wss") {
		t.Errorf("the page has not tried: %s", res.DOM)
	}
	s.alone()
	counts := sent(t, r.Processes()[0])
	for _, name := range []string{"Ip:OutRequests", "Tcp:OutSegs", "Udp:OutDatagrams", "Ip6OutRequests", "Udp6OutDatagrams", "lo bytes"} {
		if counts[name] != "0" {
			t.Errorf("%s is %s", name, counts[name])
		}
	}
}

// With flags, connections that are not intercepted go to the counting listener, and nowhere else. The test has no network except its own
// loopback, so that mistakes have no effect outside.
func TestFlagsStopConnections(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can take the network away and have another user run the browser")
	}
	if !browsertest.Isolate(t) {
		return
	}
	r := rendertest.Configured(t, chromium.Config{Tabs: 1, Isolation: chromium.Flags})
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var reached atomic.Int64
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			reached.Add(1)
			c.Close()
		}
	}()
	s := newSite(t, files{"/": fmt.Sprintf(leaky, l.Addr()), "/last.js": "1"})
	s.page(r, "/", render.Policy{})
	s.alone()
	l.Close()
	<-ended
	if n := reached.Load(); n > 0 {
		t.Errorf("%d connections reached a port of the page's choice", n)
	}
	if i := r.Info(); i.Stopped == 0 || i.Isolation != chromium.Flags {
		t.Errorf("%+v", i)
	}
}

// helper runs the named test in a process of its own, prepared by attr, and returns its output. The process has TEST_RENDER_HELPER in its
// environment.
func helper(t *testing.T, name string, attr *syscall.SysProcAttr) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+name+"$", "-test.v")
	cmd.Env = append(os.Environ(), "TEST_RENDER_HELPER=1", "TEST_BROWSER=")
	cmd.SysProcAttr = attr
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL) {
		t.Skip(err)
	}
	return string(out)
}

func onlyHelper(t *testing.T) {
	t.Helper()
	if os.Getenv("TEST_RENDER_HELPER") == "" {
		t.Skip("for a helper process")
	}
}

func TestMainWithoutNamespaces(t *testing.T) {
	onlyHelper(t)
	if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
		t.Skip(err)
	}
	_, err := chromium.New(t.Context(), chromium.Config{})
	fmt.Println("error:", err)
}

// Where namespaces are not available, the error names the system setting to check.
func TestWithoutNamespaces(t *testing.T) {
	t.Parallel()
	common.get(t)          // skips the test without a browser
	const sysResource = 24 // CAP_SYS_RESOURCE, which allows a process to raise its limits
	out := helper(t, "TestMainWithoutNamespaces", &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Getgid(), Size: 1}},
		AmbientCaps: []uintptr{sysResource},
	})
	for _, want := range []string{"render: the browser /", "cannot be started in namespaces of its own", "user.max_user_namespaces", "isolation by flags"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
}

func TestMainWithFullShm(t *testing.T) {
	onlyHelper(t)
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		t.Skip(err)
	}
	if err := syscall.Mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=64k"); err != nil {
		t.Skip(err)
	}
	if f, err := os.Create("/dev/shm/full"); err == nil {
		for err == nil {
			_, err = f.Write(make([]byte, 4096))
		}
		f.Close()
	}
	r := rendertest.Browser(t)
	s := newSite(t, app)
	fmt.Printf("page: %s\n", s.page(r, "/", render.Policy{Screenshot: true}).DOM)
}

func TestFullShm(t *testing.T) {
	t.Parallel()
	common.get(t) // skips the test without a browser
	if os.Geteuid() != 0 {
		t.Skip("only root can mount")
	}
	out := helper(t, "TestMainWithFullShm", &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS})
	if !strings.Contains(out, `<p id="out">rendered</p>`) {
		t.Errorf("%s", out)
	}
}
