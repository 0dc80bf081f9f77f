package chromium

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/amble-crawler/amble/render"
	"github.com/amble-crawler/amble/weburl"
)

// proof is a page whose content can only be made with a script, a clock that jumps, a frame and a request.
const proof = `<!doctype html><title>proof</title><p id=p>empty</p><script>
requestAnimationFrame(() => fetch("/answer").then((r) => r.text()).then((t) =>
	setTimeout(() => { p.textContent = t + " " + (new Date().getFullYear()); }, 3000)));
</script>`

// prove renders a built-in page. If a browser does not draw frames on command, it is started again to draw frames by itself.
func (r *Renderer) prove(ctx context.Context) error {
	err := r.try(ctx)
	var refused *protocolError
	if errors.As(err, &refused) && refused.Code == methodNotFound && r.Info().Browsers > 0 {
		r.told = false
		for _, h := range r.retireAll() {
			_ = h.end()
		}
		err = r.try(ctx)
	}
	if err != nil {
		return r.unusable(ctx, err, r.version, "")
	}
	return nil
}

func (r *Renderer) try(ctx context.Context) error {
	u, err := weburl.Parse("https://proof.invalid/")
	if err != nil {
		return err
	}
	page := func(kind, body string) render.Answer {
		return render.Answer{Status: 200, Header: http.Header{"Content-Type": {kind}}, Body: []byte(body)}
	}
	res, err := r.attempt(ctx, &render.Task{
		URL: u, Document: page("text/html; charset=utf-8", proof), Agent: "proof",
		Time: time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC),
		Have: func(render.Want) render.Decision {
			a := page("text/plain", "rendered")
			return render.Decision{Answer: &a}
		},
	}, nil)
	if err != nil {
		return err
	}
	if !bytes.Contains(res.DOM, []byte(`<p id="p">rendered 2001</p>`)) {
		return fmt.Errorf("a built-in test page was rendered as %.200q", res.DOM)
	}
	return nil
}

// retireAll removes and returns all browsers.
func (r *Renderer) retireAll() []*host {
	r.mu.Lock()
	defer r.mu.Unlock()
	fleet := r.fleet
	r.fleet = nil
	return fleet
}
