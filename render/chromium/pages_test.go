package chromium_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/render"
	"github.com/amble-crawler/amble/render/chromium"
	"github.com/amble-crawler/amble/render/rendertest"
)

// shows is a page, what it must contain in the end, and what it must not.
type shows struct {
	name   string
	files  files
	header http.Header // header of the page
	refuse map[string]string
	policy render.Policy
	has    []string
	lacks  []string
	cut    string
	once   bool // it is never rendered twice, because two renderings may differ
	fickle bool // it is rendered twice in short runs, too: several processes, chance or clocks could make the results differ
	hurry  bool // it does not respond
	floods bool // it keeps the browser busy, and would delay other pages
	check  func(*testing.T, *render.Result)
}

var pages = []shows{
	{
		name: "spa",
		files: files{
			"/":       `<!doctype html><title>spa</title><div id=root></div><script src=/app.js></script>`,
			"/app.js": `fetch("/api/1").then(r => r.json()).then(j => { root.innerHTML = "<h1>" + j.title + "</h1>" + j.links.map(l => "<a href=" + l + ">x</a>").join("") })`,
			"/api/1":  `{"title": "made of an answer", "links": ["/one", "/two"]}`,
		},
		has:   []string{"<!DOCTYPE html>", "<h1>made of an answer</h1>", `<a href="/one">`, `<a href="/two">`},
		check: fates("script 200", "fetch 200"),
	},
	{
		name: "modules",
		files: files{
			"/": `<!doctype html><script type=importmap>{"imports": {"deep": "/m/4.js"}}</script>
				<link rel=modulepreload href=/m/2.js><p id=out></p><script type=module src=/m/1.js></script>`,
			"/m/1.js": `import two from "./2.js"; import data from "./d.json" with {type: "json"}; out.textContent = two + data.five`,
			"/m/2.js": `import three from "./3.js"; export default "2" + three`,
			"/m/3.js": `import four from "deep"; const late = await import("./late.js"); export default "3" + four + late.default`,
			"/m/4.js": `export default "4"`, "/m/late.js": `export default "L"`, "/m/d.json": `{"five": "5"}`,
		},
		has: []string{`<p id="out">234L5</p>`},
	},
	{
		name: "nested workers", fickle: true,
		files: files{
			"/": `<!doctype html><p id=out></p><script>
				new Worker("/outer.js").onmessage = e => { out.textContent = e.data };</script>`,
			"/outer.js": `new Worker("/inner.js").onmessage = e => postMessage("outer(" + e.data + ")")`,
			"/inner.js": `importScripts("/lib.js"); fetch("/api").then(r => r.json()).then(j => postMessage("inner(" + lib() + j.v + navigator.userAgent + ")"))`,
			"/lib.js":   `function lib() { return "lib" }`, "/api": `{"v": 7}`,
		},
		has:   []string{`<p id="out">outer(inner(lib7amble-test/1))</p>`},
		check: fates("worker 200", "worker 200", "script 200", "fetch 200"),
	},
	{
		name: "chance in workers", fickle: true,
		files: files{
			"/":     `<!doctype html><p id=out></p><script>new Worker("/w.js").onmessage = e => { out.textContent = e.data }</script>`,
			"/w.js": `postMessage([Math.random(), crypto.randomUUID(), crypto.getRandomValues(new Uint8Array(4)).join(), Number.isInteger(performance.now())].join(" "))`,
		},
		has: []string{" true</p>"},
	},
	{
		name: "shared worker", fickle: true,
		files: files{
			"/": `<!doctype html><p id=out></p><script>
				const w = new SharedWorker("/shared.js"); w.port.onmessage = e => { out.textContent = e.data };</script>`,
			"/shared.js": `onconnect = e => fetch("/api").then(r => r.json()).then(j => e.ports[0].postMessage("shared " + j.v))`,
			"/api":       `{"v": 8}`,
		},
		has: []string{`<p id="out">shared 8</p>`},
	},
	{
		name: "beacon at unload",
		files: files{
			"/": `<!doctype html><p id=out></p><iframe id=f srcdoc="<script>addEventListener('pagehide', () => navigator.sendBeacon('/from-frame', 'x'))</script>"></iframe><script>
				addEventListener("pagehide", () => navigator.sendBeacon("/pagehide", "x"));
				addEventListener("unload", () => fetch("/unload", {method: "POST", keepalive: true, body: "x"}));
				document.addEventListener("visibilitychange", () => navigator.sendBeacon("/hidden", "x"));
				navigator.sendBeacon("/now", "x"); fetch("/keepalive", {keepalive: true}).then(() => out.textContent = "kept");
				setTimeout(() => f.remove(), 100); setTimeout(() => location = "/gone", 200)</script>
				<a id=a href=/target ping=/ping>a</a><script>a.click()</script>`,
			"/keepalive": `{}`,
		},
		has: []string{`<p id="out">kept</p>`},
		check: func(t *testing.T, r *render.Result) {
			refused(t, r, "beacon /now kind", "beacon /ping kind", "beacon /from-frame kind")
			routes(t, r, "location /target", "location /gone")
		},
	},
	{
		name: "service worker with navigation preload",
		files: files{
			"/": `<!doctype html><p id=out></p><iframe id=f></iframe><script>
				const sw = navigator.serviceWorker ?? f.contentWindow.navigator.serviceWorker;
				out.textContent = typeof sw + ("serviceWorker" in navigator) + isSecureContext;
				sw?.register("/sw.js").then(r => r.navigationPreload.enable())</script>`,
			"/sw.js": `oninstall = () => fetch("/from-sw")`,
		},
		has:   []string{`<p id="out">undefinedfalsetrue</p>`},
		check: fates(),
	},
	{
		name: "speculation rules",
		files: files{
			"/": `<!doctype html><script type=speculationrules>{
				"prefetch": [{"source": "list", "urls": ["/prefetch-rule"], "eagerness": "immediate"}],
				"prerender": [{"source": "list", "urls": ["/prerender-rule"], "eagerness": "immediate"}]}</script>
				<link rel=prefetch href=/prefetch-link><link rel=prerender href=/prerender-link><link rel=dns-prefetch href=//x.invalid>
				<link rel=preconnect href=//y.invalid><link rel=compression-dictionary href=/dictionary><link rel=preload as=script href=/preload.js><link rel=preload as=image href=/preload.png>`,
			"/preload.js": "1",
		},
		check: func(t *testing.T, r *render.Result) {
			refused(t, r, "prefetch /prefetch-link kind", "image /preload.png kind", "prefetch /dictionary kind")
			for _, f := range r.Requests {
				if f.Refused == "" && !strings.HasSuffix(f.URL, "/preload.js") {
					t.Errorf("%+v was answered", f)
				}
			}
		},
	},
	{
		name: "redirects",
		files: files{
			"/": `<!doctype html><p id=out></p><script>
				const get = u => fetch(u).then(r => r.url.replace(location.origin, "") + " " + r.status, e => e.name);
				Promise.all([get("/good"), get("/loop"), get("/missing")]).then(a => out.textContent = a.join(", "))</script>`,
			"/good": "-> /hop", "/hop": "-> /end", "/end": `{}`, "/loop": "-> /loop",
		},
		has: []string{`<p id="out">/end 200, TypeError, /missing 404</p>`},
	},
	{
		name: "redirect into a disallowed path",
		files: files{
			"/":    `<!doctype html><p id=out></p><script>fetch("/way").then(() => out.textContent = "got it", () => out.textContent = "kept out")</script>`,
			"/way": "-> /private/x", "/private/x": `{}`,
		},
		refuse: map[string]string{"/private/x": "robots_disallow"},
		has:    []string{`<p id="out">kept out</p>`},
		check:  fates("fetch 302", "fetch 0 robots_disallow"),
	},
	{
		name:  "meta refresh",
		files: files{"/": `<!doctype html><meta http-equiv=refresh content="1;url=/refreshed"><p id=out></p><script>setTimeout(() => out.textContent = "still here", 2000)</script>`},
		has:   []string{"still here"},
		check: func(t *testing.T, r *render.Result) { routes(t, r, "refresh /refreshed") },
	},
	{
		name: "endless stream",
		files: files{
			"/":       `<!doctype html><p id=out></p><script>fetch("/stream").then(r => r.text()).then(t => out.textContent = t.length)</script>`,
			"/stream": "endless",
		},
		has: []string{`<p id="out">5242880</p>`},
	},
	{
		name:   "a strict policy of its own",
		files:  files{"/": `<!doctype html><p id=out>static</p><script nonce=n>out.textContent = "allowed"</script><script>out.textContent = "not allowed"</script>`},
		header: http.Header{"Content-Security-Policy": {"default-src 'none'; script-src 'nonce-n'; report-uri /report; require-trusted-types-for 'script'"}},
		has:    []string{`<p id="out">allowed</p>`},
		check:  func(t *testing.T, r *render.Result) { refused(t, r, "beacon /report kind") },
	},
	{
		name:  "isolated by its own headers",
		files: files{"/": `<!doctype html><p id=out></p><script>fetch("/x").then(r => r.text()).then(t => setTimeout(() => out.textContent = t + crossOriginIsolated, 1000))</script>`, "/x": "x"},
		header: http.Header{
			"Cross-Origin-Opener-Policy": {"same-origin"}, "Cross-Origin-Embedder-Policy": {"require-corp"}, "Origin-Agent-Cluster": {"?1"},
			"Document-Policy": {"js-profiling"}, "Permissions-Policy": {"sync-xhr=()"}, "Clear-Site-Data": {`"*"`}, "Refresh": {"0;url=/refreshed"},
			"Link": {"</pre.js>; rel=preload; as=script"}, "Set-Cookie": {"a=b"}, "Alt-Svc": {`h3=":443"`}, "Content-Disposition": {"attachment"},
		},
		has: []string{`<p id="out">xtrue</p>`},
		check: func(t *testing.T, r *render.Result) {
			fates("fetch 200")(t, r)
			routes(t, r)
		},
	},
	{
		name:   "no type of the browser's",
		files:  files{"/": "MZ\x00\x01"},
		header: http.Header{"Content-Type": {"application/octet-stream"}},
		cut:    render.CutDocument,
	},
	{
		name:   "another character set",
		files:  files{"/": "<!doctype html><p id=out>caf\xe9</p><script>out.append(' \xfc')</script>"},
		header: http.Header{"Content-Type": {"text/html; charset=iso-8859-1"}},
		has:    []string{"café ü"},
	},
	{
		name: "self-navigation", fickle: true,
		files: files{
			"/": `<!doctype html><p id=out>here</p><a id=a href=/clicked>a</a>
				<a id=b href=/new target=_blank>b</a><script>
				const after = (ms, f) => setTimeout(f, ms);
				after(10, () => location = "/assigned"); after(20, () => location.replace("//elsewhere.invalid/replaced")); after(30, () => a.click());
				after(40, () => b.click()); after(50, () => open("/opened")?.close()); after(60, () => location.reload());
				after(70, () => location = "mailto:a@b.invalid"); after(80, () => history.go(-1));
				after(2000, () => out.textContent = "still here")</script>`,
		},
		has: []string{`<p id="out">still here</p>`},
		check: func(t *testing.T, r *render.Result) {
			routes(t, r, "location /assigned", "location http://elsewhere.invalid/replaced", "location /clicked", "open /new",
				"open /opened")
		},
	},
	{
		name: "form",
		files: files{
			"/": `<!doctype html><form id=get action=/search><input name=q value="a b"></form><form id=post action=/buy method=post><input name=n value=1></form>
				<p id=out></p><script>get.submit(); setTimeout(() => post.requestSubmit(), 100); setTimeout(() => out.textContent = "still here", 1000)</script>`,
		},
		has: []string{"still here"},
		check: func(t *testing.T, r *render.Result) {
			routes(t, r, "form /search?q=a+b")
			refused(t, r, "other /buy method")
		},
	},
	{
		name: "download",
		files: files{
			"/": `<!doctype html><a id=a href=/file.bin download>a</a><a id=b download=x>b</a><iframe src=/framed.zip></iframe><p id=out></p><script>
				b.href = URL.createObjectURL(new Blob(["x"])); a.click(); b.click(); b.remove(); setTimeout(() => out.textContent = "still here", 1000)</script>`,
		},
		has:   []string{"still here"},
		check: func(t *testing.T, r *render.Result) { refused(t, r, "frame /framed.zip frame") },
	},
	{
		name: "dialogs",
		files: files{
			"/": `<!doctype html><p id=out></p><script>
				out.textContent = [alert("a"), confirm("b"), prompt("c", "default")].join(); print();
				onbeforeunload = e => { e.preventDefault(); return "no" }; location = "/away"</script>`,
		},
		has: []string{`<p id="out">,true,default</p>`},
		check: func(t *testing.T, r *render.Result) {
			if r.Dialogs != 3 {
				t.Errorf("%d dialogs", r.Dialogs)
			}
		},
	},
	{
		name: "dialogs without end", hurry: true,
		files: files{"/": `<!doctype html><p id=out>there</p><script>for (;;) alert()</script>`},
		has:   []string{"there"},
		cut:   render.CutStuck,
	},
	{
		name: "endless timers", fickle: true,
		files: files{
			"/": `<!doctype html><p id=out></p><script>let n = 0; setInterval(() => out.textContent = ++n, 1000)</script>`,
		},
		has: []string{`<p id="out">10</p>`},
		cut: render.CutTime,
	},
	{
		name: "busy loop on Date.now", hurry: true,
		files: files{"/": `<!doctype html><p id=out>there</p><script>const end = Date.now() + 1000; while (Date.now() < end);</script>`},
		has:   []string{"there"},
		cut:   render.CutStuck,
	},
	{
		name: "busy worker", hurry: true,
		files: files{
			"/":     `<!doctype html><p id=out></p><script>new Worker("/w.js"); setTimeout(() => out.textContent = "not held up", 1000)</script>`,
			"/w.js": `for (;;);`,
		},
		has: []string{"not held up"},
	},
	{
		name: "more workers than a page may have", // if they waited, they would stop the page's clock
		files: files{
			"/": `<!doctype html><script>for (let i = 0; i < 60; i++) new Worker(URL.createObjectURL(new Blob([";"])))</script>`,
		},
		cut: render.CutFlood,
	},
	{
		name: "promises without end", hurry: true,
		files: files{
			"/": `<!doctype html><p id=out>there</p><script>(function again() { Promise.resolve().then(again) })()</script>`,
		},
		has: []string{"there"},
		cut: render.CutStuck,
	},
	{
		name: "messages without end", floods: true,
		files: files{
			"/": `<!doctype html><p id=out>0</p><script>let n = 0; onmessage = () => { n++; postMessage(1, "*") }; postMessage(1, "*"); setTimeout(() => out.textContent = n > 1000, 2000)</script>`,
		},
		has: []string{`<p id="out">true</p>`},
	},
	{
		name: "requests without end", floods: true,
		files: files{"/": `<!doctype html><script>for (let i = 0; ; i++) fetch("/flood?" + i)</script>`},
		cut:   "any", // flooded or stuck, whichever comes first
		check: func(t *testing.T, r *render.Result) {
			if r.Cut != render.CutFlood && r.Cut != render.CutStuck {
				t.Errorf("cut by %q", r.Cut)
			}
		},
	},
	{
		name: "console without end", floods: true,
		files: files{
			"/": `<!doctype html><p id=out></p><script>for (let i = 0; i < 3000; i++) console.log(i, "x".repeat(10000)); out.textContent = "done"</script>`,
		},
		has: []string{"done"},
		check: func(t *testing.T, r *render.Result) {
			if len(r.Console) != render.MaxConsole || len(r.Console[0]) > render.MaxLine {
				t.Errorf("%d lines, the first of %d bytes", len(r.Console), len(r.Console[0]))
			}
		},
	},
	{
		name: "pushState",
		files: files{
			"/": `<!doctype html><p id=out></p><script>history.pushState(1, "", "/pushed?x=1"); history.replaceState(1, "", "deep/replaced"); location.hash = "h"; out.textContent = "done"</script><a href=next>n</a>`,
		},
		has: []string{"done"},
		check: func(t *testing.T, r *render.Result) {
			routes(t, r, "push /pushed?x=1", "replace /deep/replaced")
			if r.URL.Path() != "/deep/replaced" {
				t.Errorf("the document is at %s", r.URL)
			}
		},
	},
	{
		name: "polling", fickle: true,
		files: files{
			"/": `<!doctype html><p id=out></p><script>
				const poll = () => fetch("/poll").then(r => r.json()); setTimeout(() => poll().then(() => setTimeout(() => out.textContent = "at last", 4000)), 4000)</script>`,
			"/poll": "{}",
		},
		has: []string{"at last"},
		cut: render.CutTime,
	},
	{
		name: "shadow roots",
		files: files{
			"/": `<!doctype html><div id=a></div><div><template shadowrootmode=open shadowrootserializable><p>declared</p></template></div><script>
				a.attachShadow({mode: "closed"}).innerHTML = "<a href=/in-shadow>closed</a><b></b>";
				customElements.define("x-y", class extends HTMLElement { constructor() { super(); this.root = this.attachShadow({mode: "closed"}) }
					connectedCallback() { setTimeout(() => this.root.innerHTML = "<i>later</i>", 4000); setTimeout(() => this.root.innerHTML += "<i>and later</i>", 8000) } })</script><x-y></x-y>`,
		},
		cut: render.CutTime,
		has: []string{`<template shadowrootmode="open" shadowrootserializable=""><a href="/in-shadow">closed</a><b></b></template>`, "declared", "<i>later</i><i>and later</i>"},
	},
	{
		name: "random URLs over rounds", fickle: true,
		files: files{
			"/": `<!doctype html><p id=out></p><iframe id=f></iframe><script>
				const ids = [Math.random(), crypto.randomUUID(), crypto.getRandomValues(new Uint32Array(2)).join(), Date.now(), performance.now(),
					f.contentWindow.Math.random(), new Date().getTimezoneOffset()];
				fetch("/r?" + ids.join("_")).then(r => r.text()).then(() => fetch("/s?" + Math.random())).then(() => out.textContent = ids.join(" "))</script>`,
			"/r": "1", "/s": "2",
		},
		has: []string{" 1772600767", " 0</p>"},
	},
	{
		name: "frames and animations", fickle: true,
		files: files{
			"/": `<!doctype html><style>#box { transition: opacity 1s; opacity: 1 } #box.x { opacity: 0 }</style><div id=box>b</div><div style="height: 3000px"></div><div id=low></div><p id=out></p><script>
				const seen = new Set(); const note = s => { if (seen.has(s)) return; seen.add(s); out.textContent = [...seen].sort().join(" ") };
				requestAnimationFrame(function f(ts) { if (ts === performance.now() && Number.isInteger(ts)) note("raf"); requestAnimationFrame(f) });
				new IntersectionObserver(e => e[0].isIntersecting && note("low")).observe(low);
				new ResizeObserver(() => note("resize")).observe(box); box.addEventListener("transitionend", () => note("end"));
				setTimeout(() => box.className = "x", 300); setTimeout(() => scrollTo(0, 9999), 2000); requestIdleCallback(() => note("idle"))</script>`,
		},
		has: []string{`<p id="out">end idle low raf resize</p>`}, // in any order, and however many frames a busy browser skips
	},
	{
		name: "windows",
		files: files{
			"/": `<!doctype html><p id=out></p><a id=a target=x href=/named>a</a><script>
				out.textContent = open("/opened") + "," + open("about:blank"); a.click(); a.target = "_blank"; a.rel = "opener"; a.href = "javascript:fetch('/from-window')"; a.click()</script>`,
		},
		has:   []string{`<p id="out">null,null</p>`},
		check: func(t *testing.T, r *render.Result) { routes(t, r, "open /opened", "open /named") },
	},
	{
		name: "sockets",
		files: files{
			"/": `<!doctype html><p id=out></p><script>
				const ws = new WebSocket("ws://" + location.host + "/socket"); ws.onerror = () => out.textContent = [typeof RTCPeerConnection, typeof webkitRTCPeerConnection,
					typeof WebTransport, typeof WebSocketStream, typeof fetchLater, navigator.onLine].join()</script>`,
		},
		has:   []string{"undefined,undefined,undefined,undefined,undefined,true"},
		check: func(t *testing.T, r *render.Result) { refused(t, r, "socket /socket kind") },
	},
	{
		name: "methods and kinds",
		files: files{
			"/": `<!doctype html><link rel=icon href=/icon.ico><link rel=manifest href=/manifest><link rel=stylesheet href=/style.css>
				<style>@font-face { font-family: f; src: url(/font.woff2) } p { font-family: f }</style><p id=out>text</p><img src=/image.png>
				<video src=/video.mp4></video><audio src=/audio.mp3></audio><object data=/object></object><embed src=/embed><script>
				new EventSource("/events"); const failed = []; const no = (u, o) => fetch(u, o).catch(() => failed.push(u));
				Promise.all([no("/post", {method: "POST", body: "x"}), no("/put", {method: "PUT"}), no("/head", {method: "HEAD"}), no("/delete", {method: "DELETE"})])
					.then(() => out.textContent = failed.sort().join())</script>`,
		},
		has: []string{`<p id="out">/delete,/head,/post,/put</p>`},
		check: func(t *testing.T, r *render.Result) {
			refused(t, r, "style /style.css kind", "font /font.woff2 kind", "image /image.png kind", "media /video.mp4 kind", "media /audio.mp3 kind",
				"frame /object frame", "frame /embed frame", "events /events kind", "fetch /post method", "fetch /put method", "fetch /head method", "fetch /delete method")
			for _, f := range r.Requests {
				if f.Status != 0 {
					t.Errorf("%+v was answered", f)
				}
			}
		},
	},
	{
		name: "synchronous request",
		files: files{
			"/":     `<!doctype html><p id=out></p><script>const x = new XMLHttpRequest(); x.open("GET", "/sync", false); x.send(); out.textContent = x.responseText</script>`,
			"/sync": `["whole"]`,
		},
		has: []string{`<p id="out">["whole"]</p>`},
	},
	{
		name: "the document is replaced",
		files: files{
			"/": `<!doctype html><p>old</p><script>setTimeout(() => location = URL.createObjectURL(new Blob(["<p>new</p>"], {type: "text/html"})), 100)</script>`,
		},
		cut: render.CutLeft,
	},
	{
		name:  "document.open",
		files: files{"/": `<!doctype html><p>old</p><script>onload = () => { document.open(); document.write("<!doctype html><p>written</p><script src=/w.js></scr" + "ipt>"); document.close() }</script>`, "/w.js": `document.body.append("and run")`},
		has:   []string{"<p>written</p>", "and run"},
		lacks: []string{"old"},
	},
	{
		name: "text that is none",
		files: files{
			"/": `<!doctype html><p id=out></p><script>out.textContent = "a\ud800b\u0000c\u2028"; console.log("\udfff"); fetch("/\ud800?" + "x".repeat(9000)).catch(() => 0)</script>`,
		},
		has: []string{"a\ufffdb"},
		check: func(t *testing.T, r *render.Result) {
			if len(r.Requests) != 1 || r.Requests[0].Refused != "url_too_long" {
				t.Errorf("%+v", r.Requests)
			}
		},
	},
	{
		name: "a DOM that is too long",
		files: files{
			"/": `<!doctype html><template id=out></template><script>out.content.textContent = "0123456789abcdef".repeat(2 << 20)</script>`,
		},
		has: []string{"0123456789abcdef"},
		cut: render.CutDOM,
		check: func(t *testing.T, r *render.Result) {
			if len(r.DOM) != render.MaxDOM {
				t.Errorf("%d bytes", len(r.DOM))
			}
			r.DOM = nil
		},
	},
	{
		name: "tampering",
		files: files{
			"/": `<!doctype html><p id=out>real</p><script>
				for (const n of Object.getOwnPropertyNames(window)) if (n.includes("amble")) document.title = n;
				Element.prototype.getHTML = Element.prototype.cloneNode = () => "fake"; XMLSerializer.prototype.serializeToString = () => "fake";
				Object.defineProperty(document, "documentElement", {get: () => null}); performance.now = () => 1e9; String.prototype.slice = () => "fake";
				JSON.stringify = () => "fake"; Promise = null; Array.from = null; delete window.MutationObserver</script>`,
		},
		has:   []string{`<p id="out">real</p>`},
		lacks: []string{"<title>", "fake</p>"},
	},
	{
		name: "permissions and choosers",
		files: files{
			"/": `<!doctype html><input type=file id=f><p id=out></p><script>
				const seen = []; const note = s => { seen.push(s); out.textContent = seen.sort().join() };
				f.click(); navigator.geolocation.getCurrentPosition(() => note("position"), () => note("no position"));
				Notification?.requestPermission().then(note); navigator.mediaDevices?.getUserMedia({video: true}).then(() => note("camera"), () => note("no camera"));
				navigator.clipboard?.readText().then(() => note("clipboard"), () => note("no clipboard"));
				navigator.bluetooth?.requestDevice({acceptAllDevices: true}).catch(() => note("no bluetooth")); document.body.requestFullscreen?.().catch(() => note("no fullscreen"))</script>`,
		},
		once:  true, // devices answer in real time, and virtual time may run out first
		cut:   "any",
		lacks: []string{">position", ",position", ">camera", ",camera", ">clipboard", ",clipboard"},
	},
}

func TestPages(t *testing.T) {
	t.Parallel()
	patient, hurried, flooded := common.get(t), hurrying(t, chromium.Config{Tabs: 2}), rendertest.Configured(t, chromium.Config{Tabs: 1})
	flooded.StuckAfter(patience)
	for _, c := range pages {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := patient
			switch {
			case c.hurry:
				r = hurried
			case c.floods:
				r = flooded
			}
			c.test(t, r, !c.once && (c.fickle || long.Full()))
		})
	}
}

// TestPagesBeyondTheirProcessorTime runs before the parallel tests, whose pages it would slow down.
func TestPagesBeyondTheirProcessorTime(t *testing.T) {
	for _, c := range []shows{
		{
			name: "many busy workers with a limit",
			files: files{
				"/": `<!doctype html><script>for (let i = 0; i < 40; i++) new Worker(URL.createObjectURL(new Blob(["for (;;);"])))</script>`,
			},
			policy: render.Policy{MaxProcessor: time.Second / 5},
			cut:    render.CutStuck,
			check:  tookProcessor(time.Second / 5),
		},
		{
			name:   "a busy page with a limit",
			files:  files{"/": `<!doctype html><p id=out>there</p><script>for (;;);</script>`},
			policy: render.Policy{MaxProcessor: time.Second / 20},
			cut:    render.CutStuck,
			check:  tookProcessor(time.Second / 20),
		},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, common.get(t), false) })
	}
}

// hurrying returns a Renderer that soon gives up on pages that do not respond, to save time. On a busy machine it gives up on other pages,
// too.
func hurrying(t *testing.T, c chromium.Config) *chromium.Renderer {
	t.Helper()
	r := rendertest.Configured(t, c)
	r.StuckAfter(time.Second / 2)
	return r
}

// A full browser shows the same, though not always in the same order. It draws frames at its own pace, and none on a busy machine, so no
// page here waits for a frame.
func TestPagesInAFullBrowser(t *testing.T) {
	path, err := chromium.Find("chromium")
	if err != nil {
		t.Skip(err)
	}
	t.Parallel()
	some := []string{"spa", "self-navigation", "shadow roots", "windows", "the document is replaced"}
	if long.Full() {
		some = append(some, "modules", "nested workers", "redirects", "download", "endless timers", "busy loop on Date.now")
	}
	whole := chromium.Config{Tabs: 1, Browser: path}
	patient := rendertest.Configured(t, whole)
	for _, c := range pages {
		if slices.Contains(some, c.name) {
			t.Run(c.name, func(t *testing.T) {
				r := patient
				if c.hurry {
					r = hurrying(t, whole)
				}
				c.test(t, r, false)
			})
		}
	}
}

func (c *shows) test(t *testing.T, r *chromium.Renderer, twice bool) {
	s := newSite(t, c.files)
	s.header, s.refuse = c.header, c.refuse
	render := s.once
	if twice {
		render = s.twice
	}
	res := render(r, "/", c.policy)
	for _, h := range c.has {
		if !strings.Contains(string(res.DOM), h) {
			t.Errorf("no %q in\n%s", h, res.DOM)
		}
	}
	for _, l := range c.lacks {
		if strings.Contains(string(res.DOM), l) {
			t.Errorf("%q in\n%s", l, res.DOM)
		}
	}
	if c.cut != "any" && res.Cut != c.cut {
		t.Errorf("cut by %q, want %q", res.Cut, c.cut)
	}
	if c.check != nil {
		c.check(t, res)
	}
	if t.Failed() {
		t.Logf("%.3000s", fmt.Sprintf("%+v", res))
	}
}

// tookProcessor asserts that a page has used this much processor time, where it is known, and has no document.
func tookProcessor(least time.Duration) func(*testing.T, *render.Result) {
	return func(t *testing.T, r *render.Result) {
		t.Helper()
		if r.Processor < least || r.DOM != nil {
			t.Errorf("a page that took %v has the document %q", r.Processor, r.DOM)
		}
	}
}

// fates asserts the kinds and statuses of a page's requests.
func fates(want ...string) func(*testing.T, *render.Result) {
	return func(t *testing.T, r *render.Result) {
		t.Helper()
		var got []string
		for _, f := range r.Requests {
			if f.Kind != string(render.KindIcon) { // full browsers request it
				got = append(got, strings.TrimSpace(fmt.Sprint(f.Kind, " ", f.Status, " ", f.Refused)))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("requests %v, want %v", got, want)
		}
	}
}

// refused asserts that these requests were refused: kind, path and reason.
func refused(t *testing.T, r *render.Result, want ...string) {
	t.Helper()
	var got []string
	for _, f := range r.Requests {
		if _, rest, ok := strings.Cut(f.URL, "://"); ok {
			_, path, _ := strings.Cut(rest, "/")
			got = append(got, fmt.Sprintf("%s /%s %s", f.Kind, path, f.Refused))
		}
	}
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("no %q among %v", w, got)
		}
	}
}

// routes asserts a page's routes: kind and path, or the whole URL on another host.
func routes(t *testing.T, r *render.Result, want ...string) {
	t.Helper()
	var got []string
	for _, x := range r.Routes {
		if where := x.URL.PathQuery(); x.URL.Hostname() == "127.0.0.1" {
			got = append(got, string(x.How)+" "+where)
		} else {
			got = append(got, string(x.How)+" "+x.URL.String())
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("routes %q, want %q", got, want)
	}
}
