package chromium

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// confine prepares the process of a browser: with new user, network and process namespaces, or just with another user and a process group.
// In either case the process ends with the thread that starts it.
func confine(cmd *exec.Cmd, iso Isolation, as *user) error {
	a := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if as != nil {
		a.Credential = &syscall.Credential{Uid: uint32(as.id), Gid: uint32(as.id), NoSetGroups: iso == Namespace}
	}
	if iso == Namespace {
		uid, gid := os.Geteuid(), os.Getegid()
		if as != nil {
			uid, gid = as.id, as.id
		}
		a.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	}
	cmd.SysProcAttr = a
	return nil
}

// confined returns an error unless the process is in a network namespace without any connection to others.
func confined(pid int, iso Isolation) error {
	if iso != Namespace {
		return nil
	}
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return fmt.Errorf("reading our own network namespace: %w", err)
	}
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	its, err := os.Readlink(filepath.Join(proc, "ns/net"))
	if err != nil {
		return fmt.Errorf("reading the browser's network namespace: %w", err)
	}
	if own == its {
		return fmt.Errorf("the browser shares our network namespace %s", own)
	}
	return noWayOut(filepath.Join(proc, "net"))
}

// noWayOut checks a directory such as /proc/PID/net: it returns an error for interfaces other than loopback, and for routes.
func noWayOut(net string) error {
	dev, err := os.ReadFile(filepath.Join(net, "dev"))
	if err != nil {
		return fmt.Errorf("reading the browser's interfaces: %w", err)
	}
	for i, line := range strings.Split(strings.TrimSpace(string(dev)), "\n") {
		if name, _, ok := strings.Cut(line, ":"); i >= 2 && (!ok || strings.TrimSpace(name) != "lo") {
			return fmt.Errorf("the browser has the network interface %q", strings.TrimSpace(name))
		}
	}
	route, err := os.ReadFile(filepath.Join(net, "route"))
	if err != nil {
		return fmt.Errorf("reading the browser's routes: %w", err)
	}
	if n := bytes.Count(bytes.TrimSpace(route), []byte("\n")); n > 0 {
		return fmt.Errorf("the browser has %d routes", n)
	}
	route6, err := os.ReadFile(filepath.Join(net, "ipv6_route"))
	if err != nil && !os.IsNotExist(err) { // without IPv6 the file does not exist
		return fmt.Errorf("reading the browser's IPv6 routes: %w", err)
	}
	for line := range strings.Lines(string(route6)) {
		if f := strings.Fields(line); len(f) < 10 || f[9] != "lo" {
			return fmt.Errorf("the browser has the IPv6 route %q", strings.TrimSpace(line))
		}
	}
	return nil
}

// killAll kills a browser. With the first process of a process namespace, the kernel kills all others; without namespaces, the process
// group is killed.
func killAll(p *os.Process) {
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
	_ = p.Kill()
}

// smallShm reports whether /dev/shm is too small for a browser: less than 512 MiB.
func smallShm() bool {
	var s syscall.Statfs_t
	err := syscall.Statfs("/dev/shm", &s)
	return err != nil || int64(s.Bavail)*s.Bsize < 512<<20
}

// memory returns the private memory of a process and its descendants, in bytes, and the descendant with the most memory and its size.
func memory(pid int) (total int64, largest int, size int64) {
	total = private(pid)
	for _, child := range children(pid) {
		sum, l, s := memory(child)
		own := private(child)
		if own > s {
			l, s = child, own
		}
		if total += sum; s > size {
			largest, size = l, s
		}
	}
	return total, largest, size
}

// tick is the unit of processor time in /proc (proc_pid_stat(5)), 1/100 s on all Linux systems.
const tick = 10 * time.Millisecond

// cpu returns the processor time of a process and its descendants, including those that have ended.
func cpu(pid int) time.Duration {
	total := time.Duration(0)
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if i := bytes.LastIndexByte(b, ')'); err == nil && i > 0 {
		f := strings.Fields(string(b[i+1:]))
		for _, n := range []int{11, 12, 13, 14} { // utime, stime, and the same for children
			if len(f) > n {
				v, _ := strconv.ParseInt(f[n], 10, 64)
				total += time.Duration(v) * tick
			}
		}
	}
	for _, child := range children(pid) {
		total += cpu(child)
	}
	return total
}

// renderers returns the descendants of a browser's process that show pages.
func renderers(pid int) (list []int) {
	for _, child := range children(pid) {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child))
		if bytes.Contains(line, []byte("--type=renderer")) {
			list = append(list, child)
		}
		list = append(list, renderers(child)...)
	}
	return list
}

// children returns the child processes of a process, whichever of its threads started them. It is cheap: it is called four times a second.
func children(pid int) (list []int) {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	threads, _ := d.Readdirnames(-1)
	_ = d.Close() // opened only for reading
	for _, t := range threads {
		b, _ := os.ReadFile(dir + "/" + t + "/children")
		for _, f := range strings.Fields(string(b)) {
			if n, err := strconv.Atoi(f); err == nil {
				list = append(list, n)
			}
		}
	}
	return list
}

// private returns the resident memory of a process, without files and shared memory.
func private(pid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if f := strings.Fields(string(b)); err == nil && len(f) > 2 {
		resident, _ := strconv.ParseInt(f[1], 10, 64)
		shared, _ := strconv.ParseInt(f[2], 10, 64)
		return (resident - shared) * int64(os.Getpagesize())
	}
	return 0
}
