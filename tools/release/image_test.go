package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestImage builds the image of the Dockerfile and crawls in its containers, as docs/deploy.md describes: as a user without privileges,
// with a volume as the only writable place. It then starts the services of the compose files.
func TestImage(t *testing.T) {
	if !*build {
		t.Skip("-release.build is not given")
	}
	if out, err := exec.CommandContext(t.Context(), "docker", "info").CombinedOutput(); err != nil {
		t.Skipf("no Docker daemon answers here: %v\n%s", err, out)
	}
	name := fmt.Sprintf("amble-test-%d", os.Getpid())
	t.Cleanup(func() {
		for _, args := range [][]string{{"rm", "-f", "-v", name}, {"volume", "rm", "-f", name}, {"rmi", "-f", name}} {
			_ = exec.CommandContext(context.Background(), "docker", args...).Run() // some of these may not exist
		}
	})
	docker(t, "build", "-q", "-t", name, root)
	run := []string{"run", "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges:true"}
	docker(t, append(run, "--rm", name, "demo", "-q")...)
	docker(t, append(run, "-d", "--name", name, name, "demo", "--serve")...)
	for _, args := range [][]string{
		{"crawl", "-q", "-w", "100ms", "--archive", "-o", "job", "http://127.0.0.1:8808/"},
		{"verify", "job"}, {"show", "job"}, {"export", "job", "--to", "sqlite"},
	} {
		docker(t, append(append(run, "--rm", "--network", "container:"+name, "-v", name+":/crawls", name), args...)...)
	}

	t.Run("one machine", func(t *testing.T) { oneMachine(t, composed(t, name, "compose.yaml")) })
	t.Run("three workers", func(t *testing.T) { threeWorkers(t, composed(t, name, "cluster.yaml")) })
}

// oneMachine crawls with the compose file that has the services amble, prometheus and grafana. If the images of the last two cannot be
// pulled, it leaves these services out.
func oneMachine(t *testing.T, p *project) {
	var others []string
	for _, service := range []string{"prometheus", "grafana"} {
		if out, err := p.run(t.Context(), "pull", "-q", "--policy", "missing", service); err != nil {
			t.Logf("%s is not started: its image cannot be pulled here: %v\n%s", service, err, out)
		} else {
			others = append(others, service)
		}
	}
	p.compose(append([]string{"up", "-d", "amble"}, others...)...)
	p.shop("amble")
	p.wait("amble")
	for _, args := range [][]string{{"verify", "job"}, {"show", "job"}} {
		p.compose(append([]string{"run", "--rm", "amble"}, args...)...)
	}
	if up := strings.Fields(p.compose("ps", "--services", "--status", "running")); len(up) != len(others) {
		t.Errorf("%v still run, want %v", up, others)
	}
}

// threeWorkers lets three nodes work on a job with three servers, and collects the results. The nodes start while the servers are stopped,
// and wait. Otherwise they would make requests before their shops are open, and failed requests cause long pauses.
func threeWorkers(t *testing.T, p *project) {
	nodes := []string{"node1", "node2", "node3"}
	p.compose("up", "-d", "s1", "s2", "s3")
	p.compose("run", "--rm", "create")
	p.compose("stop", "s1", "s2", "s3")
	p.compose(append([]string{"up", "-d"}, nodes...)...)
	for _, n := range nodes {
		p.shop(n)
	}
	p.compose("start", "s1", "s2", "s3")
	p.wait(nodes...)
	p.compose("run", "--rm", "node1", "cluster", "collect", "-o", "shops", "node1", "node2", "node3")
	p.compose("run", "--rm", "node1", "verify", "shops")
}

// project represents a compose file in a copy of the folder deploy, with an image that exists already.
type project struct {
	t                 *testing.T
	image, name, file string
}

// composed prepares a project that crawls the demo's bookshop on loopback. The test is skipped if docker has no compose command.
func composed(t *testing.T, image, file string) *project {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "docker", "compose", "version").CombinedOutput(); err != nil {
		t.Skipf("docker has no compose here: %v\n%s", err, out)
	}
	dir := t.TempDir()
	for _, folder := range []string{"deploy", filepath.Join("docs", "live")} { // the services mount these folders
		if err := os.CopyFS(filepath.Join(dir, folder), os.DirFS(filepath.Join(root, folder))); err != nil {
			t.Fatal(err)
		}
	}
	p := &project{t: t, image: image, name: image + "-" + strings.TrimSuffix(file, ".yaml"), file: filepath.Join(dir, "deploy", file)}
	b, err := os.ReadFile(p.file)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("image: amble\n", "image: "+image+"\n", "    build: ..\n", "").Replace(string(b))
	for name, text := range map[string]string{file: text, "token": strings.Repeat("a1", 20), "job.yaml": "urls: [\"http://127.0.0.1:8808/\"]\ndelay: 200ms\n"} {
		if err := os.WriteFile(filepath.Join(dir, "deploy", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	secret := filepath.Join(dir, "deploy", "cluster-token") // only the user of the containers may read this file
	if err := errors.Join(os.WriteFile(secret, []byte(strings.Repeat("a1", 20)), 0o600), os.Chown(secret, 65532, 65532)); err != nil && file == "cluster.yaml" {
		t.Skip("only root can make the token: ", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			out, _ := p.run(context.Background(), "logs")
			t.Log(out)
		}
		if out, err := p.run(context.Background(), "--profile", "create", "down", "-v"); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	return p
}

func (p *project) run(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "docker", append([]string{"compose", "-p", p.name, "-f", p.file}, args...)...).CombinedOutput()
	return string(out), err
}

// compose runs a docker compose command, which must succeed, and returns its output.
func (p *project) compose(args ...string) string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 10*time.Minute)
	defer cancel()
	out, err := p.run(ctx, args...)
	if err != nil {
		p.t.Fatalf("docker compose %v: %v\n%s", args, err, out)
	}
	return out
}

// shop serves the bookshop on the loopback addresses of a service's container.
func (p *project) shop(service string) {
	p.t.Helper()
	name := p.name + "-shop-" + service
	p.t.Cleanup(func() { _ = exec.CommandContext(context.Background(), "docker", "rm", "-f", "-v", name).Run() }) // it may not exist
	docker(p.t, "run", "-d", "--name", name, "--network", "container:"+p.name+"-"+service+"-1", p.image, "demo", "--serve")
}

// wait waits until the containers of these services have ended, and checks that each exit code is 0.
func (p *project) wait(services ...string) {
	p.t.Helper()
	for _, s := range services {
		if code := docker(p.t, "wait", p.name+"-"+s+"-1"); code != "0" {
			p.t.Errorf("%s ended with exit code %s", s, code)
		}
	}
}

// docker runs a docker command, which must succeed, and returns its output.
func docker(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "docker", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("docker %v: %v\n%s", args, err, bytes.TrimSpace(out))
	}
	return string(bytes.TrimSpace(out))
}
