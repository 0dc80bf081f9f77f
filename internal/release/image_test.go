package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestImage builds the image of the Dockerfile and crawls in containers of it, as docs/deploy.md says: by a user without
// privileges, on a volume, with nothing else that can be written to. It also has Docker read the compose files.
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
			_ = exec.CommandContext(context.Background(), "docker", args...).Run() // what was not made is not there
		}
	})
	docker(t, "build", "-q", "-t", name, root)
	run := []string{"run", "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges:true"}
	docker(t, append(run, "--rm", name, "demo", "-q")...)
	docker(t, append(run, "-d", "--name", name, name, "demo", "--serve")...)
	for _, args := range [][]string{
		{"crawl", "-q", "-w", "100ms", "--format", "jsonl,warc", "-o", "job", "http://127.0.0.1:8808/"},
		{"verify", "job"}, {"report", "job"}, {"export", "job", "--to", "sqlite"},
	} {
		docker(t, append(append(run, "--rm", "--network", "container:"+name, "-v", name+":/crawls", name), args...)...)
	}

	if out, err := exec.CommandContext(t.Context(), "docker", "compose", "version").CombinedOutput(); err != nil {
		t.Logf("the compose files are not read: docker has no compose here: %v\n%s", err, out)
		return
	}
	for _, file := range []string{"compose.yaml", "cluster.yaml"} {
		docker(t, "compose", "-f", filepath.Join(root, "deploy", file), "config", "-q")
	}
}

// docker runs a command of docker, which must succeed.
func docker(t *testing.T, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "docker", args...).CombinedOutput(); err != nil {
		t.Fatalf("docker %v: %v\n%s", args, err, bytes.TrimSpace(out))
	}
}
