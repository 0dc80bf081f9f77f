package chromium_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/render/chromium"
)

// starting returns the error of a Renderer that tries to start a browser.
func starting(t *testing.T, c chromium.Config) *chromium.Error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := chromium.New(ctx, c)
	if err == nil {
		r.Close()
		t.Fatal("no error")
	}
	var e *chromium.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is no Error", err)
	}
	return e
}

func says(t *testing.T, e *chromium.Error, reason string, words ...string) {
	t.Helper()
	if e.Reason != reason {
		t.Errorf("reason %q, want %q", e.Reason, reason)
	}
	for _, w := range words {
		if !strings.Contains(e.Error(), w) {
			t.Errorf("no %q in %q", w, e)
		}
	}
}

func TestNoBrowser(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	says(t, starting(t, chromium.Config{}), "render_browser",
		"looked in PATH for chromium-headless-shell, chrome-headless-shell, headless_shell, chromium", "install Debian's chromium-headless-shell")
	says(t, starting(t, chromium.Config{Browser: "/no/browser"}), "render_browser", "the browser /no/browser cannot be started", "no such file")
	says(t, starting(t, chromium.Config{Browser: "chromium", Isolation: "none"}), "render_browser", "chromium")
}

func TestUnknownIsolation(t *testing.T) {
	says(t, starting(t, chromium.Config{Browser: script(t, "exit 0"), Isolation: "none"}), "render_isolation", `"none"`, "namespace or flags")
}

// script creates an executable that any user may run.
func script(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := openUp(dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "browser")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestBrowserThatEndsAtOnce(t *testing.T) {
	e := starting(t, chromium.Config{Browser: script(t, "echo 'no usable sandbox' >&2; exit 1")})
	if e.Reason == "render_isolation" {
		t.Skip(e)
	}
	says(t, e, "render_browser", "does not work", "it said: no usable sandbox")
}

func TestBrowserThatMayNotBeExecuted(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root has another user run the browser")
	}
	path := script(t, "exit 0")
	if err := os.Chmod(path, 0o700); err != nil {
		t.Fatal(err)
	}
	says(t, starting(t, chromium.Config{Browser: path}), "render_browser", "may not be executed", "65534")
}

func TestDirectoryThatTheBrowserCannotEnter(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root has another user run the browser")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	says(t, starting(t, chromium.Config{Browser: script(t, "exit 0"), TempDir: dir}), "render_browser", "65534, cannot enter "+dir)
}

// TestMainPlaysAnOldBrowser plays a browser that supports every command except one.
func TestMainPlaysAnOldBrowser(t *testing.T) {
	lacks := os.Getenv("TEST_RENDER_LACKS")
	if lacks == "" {
		t.Skip("for TestOldBrowser")
	}
	in, out := bufio.NewReader(os.NewFile(3, "in")), os.NewFile(4, "out")
	for {
		b, err := in.ReadBytes(0)
		if err != nil {
			os.Exit(0)
		}
		var m struct {
			ID     int64
			Method string
		}
		json.Unmarshal(b[:len(b)-1], &m)
		reply := `"result":{"product":"Chrome/12.3","virtualTimeTicksBase":1,"browserContextId":"c","targetId":"t"}`
		if m.Method == lacks {
			reply = fmt.Sprintf(`"error":{"code":-32601,"message":"'%s' wasn't found"}`, m.Method)
		}
		fmt.Fprintf(out, "{\"id\":%d,%s}\x00", m.ID, reply)
		if m.Method == "Target.createTarget" {
			fmt.Fprint(out, `{"method":"Target.attachedToTarget","params":{"sessionId":"s","targetInfo":{"targetId":"t","type":"page","browserContextId":"c"}}}`+"\x00")
		}
	}
}

func TestOldBrowser(t *testing.T) {
	binary, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(script(t, ""))
	copied := filepath.Join(dir, "old") // where the browser's user has access
	if err := os.WriteFile(copied, binary, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, lacks := range []string{"Fetch.enable", "Emulation.setVirtualTimePolicy", "Target.createBrowserContext", "Browser.setDownloadBehavior"} {
		path := script(t, fmt.Sprintf("TEST_RENDER_LACKS=%s exec %s -test.run='^TestMainPlaysAnOldBrowser$'", lacks, copied))
		e := starting(t, chromium.Config{Browser: path})
		if e.Reason == "render_isolation" {
			t.Skip(e)
		}
		says(t, e, "render_browser", "(Chrome/12.3) is too old", lacks, "install a current")
	}
}
