package chromium

import (
	"strconv"
	"strings"
)

// disabled are features that request something by themselves, or that the Renderer cannot look into. Only the
// last such flag counts, so it is one list.
var disabled = []string{
	"ServiceWorkerAutoPreload", "Prerender2", "LoadingPredictor", "MediaRouter", "FedCm", "BackgroundFetch",
	"CompressionDictionaryTransport", "CompressionDictionaryTransportBackend", "Translate", "OptimizationHints",
	"InterestFeedContentSuggestions", "AutofillServerCommunication", "CertificateTransparencyComponentUpdater",
}

// flags are the command line of a browser whose profile is in dir, and whose connections, if any came about, would
// go to the local port. Frames are drawn on command if told is set, which whole browsers cannot do.
func flags(dir string, port int, told bool, iso Isolation) []string {
	f := []string{
		"--remote-debugging-pipe", "--user-data-dir=" + dir, "--headless", "--no-startup-window",
		"--window-size=1280,800", "--lang=en-US", "--force-color-profile=srgb", "--force-device-scale-factor=1",
		"--disable-gpu", "--hide-scrollbars", "--mute-audio", "--no-first-run", "--no-default-browser-check",
		"--disable-background-networking", "--disable-component-update", "--disable-default-apps",
		"--disable-extensions", "--disable-sync", "--disable-domain-reliability", "--disable-breakpad",
		"--disable-crash-reporter", "--no-pings", "--disable-back-forward-cache", "--disable-field-trial-config",
		"--password-store=basic", "--use-mock-keychain", "--disable-hang-monitor", "--disable-ipc-flooding-protection",
		"--disable-site-isolation-trials", "--disable-popup-blocking", "--disable-background-timer-throttling",
		"--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding",
		"--js-flags=--max-old-space-size=256", "--disable-features=" + strings.Join(disabled, ","),
		// The second layer, and the only one with Flags: whatever is not intercepted goes to the port.
		"--proxy-server=socks5://127.0.0.1:" + strconv.Itoa(port), "--proxy-bypass-list=<-loopback>",
		"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1", "--disable-quic", "--dns-prefetch-disable",
		"--force-webrtc-ip-handling-policy", "--webrtc-ip-handling-policy=disable_non_proxied_udp",
	}
	if told {
		// A frame is whole when the command for it returns, and nothing moves between two frames.
		f = append(f, "--run-all-compositor-stages-before-draw", "--disable-threaded-animation",
			"--disable-threaded-scrolling", "--disable-checker-imaging", "--disable-image-animation-resync",
			"--disable-new-content-rendering-timeout")
	}
	if iso == Namespace {
		f = append(f, "--disable-setuid-sandbox") // a sandbox by namespaces is there
	}
	if smallShm() {
		f = append(f, "--disable-dev-shm-usage")
	}
	return f
}
