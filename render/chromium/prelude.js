// Runs first in every document of a page, before any script of its own. It makes what the page can learn of chance
// depend on the seed, takes away what cannot be intercepted, opens shadow roots so that they can be written out, and
// tells of what scripts do that leaves no other trace. It makes no claim to be another browser and hides nothing.
(() => {
	"use strict";
	const NAME = "%NAME%", SEED = %SEED%;
	const tell = globalThis[NAME];
	delete globalThis[NAME];
	const note = (what, text) => { try { tell(what + " " + text); } catch { } };
	const define = (object, name, value) =>
		Object.defineProperty(object, name, { value, writable: true, configurable: true, enumerable: true });

	// sfc32, from PractRand: small, fast, and good enough for what is no secret.
	let [a, b, c, d] = SEED;
	const next = () => {
		const t = (((a + b) | 0) + d) | 0;
		d = (d + 1) | 0;
		a = b ^ (b >>> 9);
		b = (c + (c << 3)) | 0;
		c = (c << 21) | (c >>> 11);
		c = (c + t) | 0;
		return t >>> 0;
	};
	for (let i = 0; i < 12; i++) next();
	define(Math, "random", function random() { return (next() * 2097152 + (next() >>> 11)) / 9007199254740992; });
	if (globalThis.Crypto) {
		const original = Crypto.prototype.getRandomValues;
		const bytes = (view) => { for (let i = 0; i < view.length; i++) view[i] = next() & 255; return view; };
		define(Crypto.prototype, "getRandomValues", function getRandomValues(array) {
			original.call(this, array); // for its errors
			bytes(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
			return array;
		});
		if (Crypto.prototype.randomUUID) define(Crypto.prototype, "randomUUID", function randomUUID() {
			const v = bytes(new Uint8Array(16));
			v[6] = v[6] & 15 | 64;
			v[8] = v[8] & 63 | 128;
			const hex = Array.from(v, (x) => x.toString(16).padStart(2, "0")).join("");
			return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
		});
	}
	for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "WebTransport", "WebSocketStream", "fetchLater"])
		delete globalThis[name];
	if (globalThis.Navigator) {
		delete Navigator.prototype.serviceWorker;
		Object.defineProperty(Navigator.prototype, "onLine", { get() { return true; }, configurable: true, enumerable: true });
	}
	// The browser rounds times at random, by up to a tenth of a millisecond.
	const exact = Performance.prototype.now;
	const floor = Math.floor;
	define(Performance.prototype, "now", function now() { return floor(exact.call(this) + 0.11); });
	if (!globalThis.document) return; // a worker
	const clock = performance;
	const now = () => floor(exact.call(clock) + 0.11);
	const request = globalThis.requestAnimationFrame;
	define(globalThis, "requestAnimationFrame", function requestAnimationFrame(callback) {
		return request.call(this, typeof callback === "function" ? () => callback(now()) : callback);
	});

	// The browser is idle when it has time: that of the machine, which is none of the page's.
	const later = globalThis.setTimeout, never = globalThis.clearTimeout;
	define(globalThis, "requestIdleCallback", function requestIdleCallback(callback) {
		if (typeof callback !== "function") throw new TypeError("requestIdleCallback: the callback is no function");
		return later(() => callback({ didTimeout: false, timeRemaining: () => 50 }), 1);
	});
	define(globalThis, "cancelIdleCallback", function cancelIdleCallback(handle) { never(handle); });

	if (globalThis.WebSocket) globalThis.WebSocket = new Proxy(WebSocket, {
		construct(target, args, self) {
			note("socket", args[0]);
			return Reflect.construct(target, args, self);
		},
	});
	const address = () => document.URL;
	for (const [name, what] of [["pushState", "push"], ["replaceState", "replace"]]) {
		const original = History.prototype[name];
		define(History.prototype, name, function (...args) {
			original.apply(this, args);
			note(what, address());
		});
	}
	define(globalThis, "open", function open(url) {
		try { note("open", new URL(url, document.baseURI).href); } catch { }
		return null; // as with a blocker of windows
	});

	// A change is told of at most once in 100 ms of the page's clock.
	let told = -1e9;
	const observer = new MutationObserver(() => {
		if (now() - told < 100) return;
		told = now();
		note("change", "");
	});
	const what = { subtree: true, childList: true, characterData: true, attributeFilter: ["href", "src"] };
	observer.observe(document, what);
	const attachShadow = Element.prototype.attachShadow;
	define(Element.prototype, "attachShadow", function (init) {
		const root = attachShadow.call(this, { ...init, mode: "open", serializable: true });
		observer.observe(root, what);
		return root;
	});
})();
