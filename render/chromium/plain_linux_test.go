package chromium

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
)

// Plain is a browser without a Renderer: it makes the requests of pages itself, and nothing is intercepted. It is for comparison, and only
// allowed where the only network is loopback.
type Plain struct {
	t testing.TB
	p *process
	b *browser
}

// StartPlain starts a browser that ends with the test.
func StartPlain(t testing.TB) *Plain {
	t.Helper()
	path, err := Find("")
	if err != nil {
		t.Fatal(err)
	}
	as := browserUser()
	dir, err := newProfile("", as)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{profile: dir, said: &tail{}, gone: make(chan struct{})}
	var args []string
	for _, f := range flags(dir.home, 0, true, Flags) {
		if !strings.HasPrefix(f, "--proxy-") && !strings.HasPrefix(f, "--host-resolver-rules") {
			args = append(args, f)
		}
	}
	if err := p.run(path, args, Flags, as); err != nil {
		t.Fatal(err)
	}
	x := &Plain{t, p, attach(p, true, defaultMaxMemory)}
	t.Cleanup(func() { _ = x.b.end() })
	return x
}

// PID returns the process id of the browser.
func (x *Plain) PID() int { return x.p.cmd.Process.Pid }

// CPU returns the processor time that a process and its descendants have used.
func CPU(pid int) time.Duration { return cpu(pid) }

// Memory returns the private memory of a process and its descendants, in bytes.
func Memory(pid int) int64 {
	total, _, _ := memory(pid)
	return total
}

// Page loads a page in its own context. It returns the HTML when the title is "done" and, if virtual is set, 5 more seconds of virtual time
// have passed.
func (x *Plain) Page(ctx context.Context, url string, virtual bool) (string, error) {
	t := &tab{b: x.b, box: newMailbox(), replies: map[int64]*message{}}
	in, err := ask(ctx, t, "", target.CreateBrowserContext, target.CreateBrowserContextParams{})
	if err != nil {
		return "", err
	}
	defer func() {
		_, _ = ask(ctx, t, "", target.DisposeBrowserContext, target.DisposeBrowserContextParams(in))
	}()
	made, err := ask(ctx, t, "", target.CreateTarget, target.CreateTargetParams{URL: "about:blank", BrowserContextID: in.BrowserContextID})
	if err != nil {
		return "", err
	}
	to, err := ask(ctx, t, "", target.AttachToTarget, target.AttachToTargetParams{TargetID: made.TargetID, Flatten: new(true)})
	if err != nil {
		return "", err
	}
	wait := "r(0)"
	if virtual {
		wait = "setTimeout(r, 5000)"
	}
	if _, err := ask(ctx, t, to.SessionID, page.Navigate, page.NavigateParams{URL: url}); err != nil {
		return "", err
	}
	if virtual { // not earlier: the virtual time would run out
		if _, err := ask(ctx, t, to.SessionID, emulation.SetVirtualTimePolicy, emulation.SetVirtualTimePolicyParams{
			Policy: emulation.VirtualTimePolicyPauseIfNetworkFetchesPending, Budget: new(20_000.0),
		}); err != nil {
			return "", err
		}
	}
	res, err := ask(ctx, t, to.SessionID, runtime.Evaluate, runtime.EvaluateParams{
		Expression:   `new Promise(r => { const f = () => document.title == "done" ? ` + wait + ` : setTimeout(f, 2); f() }).then(() => document.documentElement.outerHTML)`,
		AwaitPromise: new(true), ReturnByValue: new(true),
	})
	if err == nil && res.Result == nil {
		err = fmt.Errorf("no value: %+v", res)
	}
	if err != nil {
		return "", err
	}
	return string(res.Result.Value), nil
}
