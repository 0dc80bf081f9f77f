package render

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// Mode selects the pages to render.
type Mode string

// The modes.
const (
	Never  Mode = "never"  // renders no pages
	Auto   Mode = "auto"   // renders pages whose content seems to need rendering; see Policy.Decide
	Always Mode = "always" // renders every HTML page with status 200
)

// Values of Policy.Hosts with a special meaning.
const (
	hostsSite = "site"
	hostsAny  = "any"
)

// Defaults of Policy.
const (
	DefaultMaxRequests = 60
	defaultMaxRounds   = 24
	defaultMaxWait     = 10 * time.Minute
	defaultMaxOrigins  = 4

	DefaultMaxProcessor = 20 * time.Second
)

// Policy selects the pages to render and their permitted requests. The zero Policy renders nothing.
type Policy struct {
	// Mode selects the pages to render. "": Never.
	Mode Mode
	// Kinds lists kinds of requests that are permitted in addition to scripts, workers and fetches: KindStyle, KindImage, KindFont.
	Kinds []Kind
	// Hosts selects the hosts outside the page's site (its registrable domain) that may be requested. "": the hosts of at most MaxOrigins
	// origins; "site": none; "any": all; otherwise those that match a pattern of path.Match, such as "*.cdn.example".
	Hosts string
	// Screenshot asks for a picture of each rendered page. It adds style sheets, images and fonts to Kinds.
	Screenshot bool
	// MaxRequests limits the distinct URLs that a page may request. 0: DefaultMaxRequests.
	MaxRequests int
	// MaxRounds limits the rounds of a page. 0: 24.
	MaxRounds int
	// MaxWait limits the time from the start of a page's first round to its last round. 0: 10 minutes.
	MaxWait time.Duration
	// MaxProcessor limits the processor time of a page, including its workers, in all of its rounds together. A page that exceeds it ends with
	// CutStuck. The time is only measured on Linux. 0: DefaultMaxProcessor.
	MaxProcessor time.Duration
	// MaxOrigins limits the number of origins outside a page's site, if Hosts is "". 0: 4.
	MaxOrigins int
}

// Renders reports whether p renders any page.
func (p *Policy) Renders() bool { return p.Mode == Auto || p.Mode == Always }

// Validate returns an error that names an invalid field, its value and the allowed values.
func (p *Policy) Validate() error {
	switch p.Mode {
	case "", Never, Auto, Always:
	default:
		return fmt.Errorf("render: Mode is %q: it can be never, auto or always", p.Mode)
	}
	for _, k := range p.Kinds {
		if !slices.Contains(optional, k) && !slices.Contains(always, k) {
			return fmt.Errorf("render: Kinds has %q: it can have style, image and font", k)
		}
	}
	if _, err := path.Match(p.Hosts, ""); err != nil {
		return fmt.Errorf("render: Hosts is %q: it can be site, any or a pattern such as *.cdn.example", p.Hosts)
	}
	if p.MaxRequests < 0 || p.MaxRounds < 0 || p.MaxWait < 0 || p.MaxProcessor < 0 || p.MaxOrigins < 0 {
		return fmt.Errorf("render: a limit is negative: MaxRequests %d, MaxRounds %d, MaxWait %v, MaxProcessor %v, MaxOrigins %d",
			p.MaxRequests, p.MaxRounds, p.MaxWait, p.MaxProcessor, p.MaxOrigins)
	}
	return nil
}

// Refuses returns the reason code (see [Fate]) if a Want is refused regardless of the page's other requests, or "".
func (p *Policy) Refuses(page weburl.URL, w Want) string {
	switch {
	case w.Method != http.MethodGet:
		return ReasonMethod
	case w.Kind == KindFrame:
		return reasonFrame
	case !p.allows(w.Kind):
		return ReasonKind
	case p.Hosts == "" || p.Hosts == hostsAny || page.Domain() == w.URL.Domain():
		return ""
	case p.Hosts == hostsSite:
		return ReasonHost
	}
	if ok, err := path.Match(strings.ToLower(p.Hosts), w.URL.Hostname()); err != nil || !ok {
		return ReasonHost
	}
	return ""
}

func (p *Policy) allows(k Kind) bool {
	return slices.Contains(always, k) || slices.Contains(p.Kinds, k) || p.Screenshot && slices.Contains(optional, k)
}

func (p *Policy) maxRequests() int       { return orDefault(p.MaxRequests, DefaultMaxRequests) }
func (p *Policy) maxRounds() int         { return orDefault(p.MaxRounds, defaultMaxRounds) }
func (p *Policy) maxWait() time.Duration { return orDefault(p.MaxWait, defaultMaxWait) }
func (p *Policy) maxOrigins() int        { return orDefault(p.MaxOrigins, defaultMaxOrigins) }

func orDefault[T int | time.Duration](v, d T) T {
	if v == 0 {
		return d
	}
	return v
}

// Kind is the purpose of a page's request.
type Kind string

// The kinds, stable across versions.
const (
	KindScript   Kind = "script"   // classic scripts, modules, and imports of workers
	KindWorker   Kind = "worker"   // the script of a worker
	KindFetch    Kind = "fetch"    // fetch and XMLHttpRequest
	KindStyle    Kind = "style"    // style sheets
	KindImage    Kind = "image"    // images
	KindFont     Kind = "font"     // fonts
	KindFrame    Kind = "frame"    // the document of a frame
	KindMedia    Kind = "media"    // audio, video and their text tracks
	KindEvents   Kind = "events"   // EventSource
	KindManifest Kind = "manifest" // the manifest of a web application
	KindIcon     Kind = "icon"     // the icon of a page
	KindPrefetch Kind = "prefetch" // resources that may be needed later: prefetch, prerender and speculation rules
	KindBeacon   Kind = "beacon"   // sendBeacon, ping of a link, reports of policies
	KindSocket   Kind = "socket"   // WebSocket
	KindWindow   Kind = "window"   // all requests of a window that the page opened
	KindOther    Kind = "other"    // none of the kinds above
)

// always lists the kinds of requests that rendering needs. Policy.Kinds can add those listed in optional.
var (
	always   = []Kind{KindScript, KindWorker, KindFetch}
	optional = []Kind{KindStyle, KindImage, KindFont}
)

// Reason codes of refusals: see [Fate].
const (
	ReasonKind     = "kind"
	ReasonMethod   = "method"
	reasonFrame    = "frame"
	ReasonHost     = "host_limit"
	reasonRequests = "render_requests"
	reasonRounds   = "render_rounds"
	reasonWait     = "render_wait"
	reasonStore    = "render_store"
)

// Fate is a request of a page with its outcome, as sinks record it. A request may be refused by the gate, the fetcher or the Policy. The
// Policy's reasons are stable across versions:
//
//	kind             requests of this kind are not made
//	method           only GET requests are made
//	frame            frames are not loaded: their addresses are links of the page
//	host_limit       the Policy does not allow this host outside the page's site
//	render_requests  the page has made as many requests as the Policy allows
//	render_rounds    the page has had as many rounds as the Policy allows
//	render_wait      the page has waited for answers as long as the Policy allows
//	render_store     the store has no room
type Fate = sink.RenderRequest
