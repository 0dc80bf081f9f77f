package render

// Kind says what the answer to a request of a page is for.
type Kind string

// The kinds, stable across versions.
const (
	KindScript   Kind = "script"   // classic scripts, modules, what workers import
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
	KindPrefetch Kind = "prefetch" // what may be needed later: prefetch, prerender and speculation rules
	KindBeacon   Kind = "beacon"   // sendBeacon, ping of a link, reports of policies
	KindSocket   Kind = "socket"   // WebSocket
	KindWindow   Kind = "window"   // anything requested by a window that the page opened
	KindOther    Kind = "other"    // none of these
)

// always are the kinds without which there is no rendering. Policy.Kinds can add those of optional.
var (
	always   = []Kind{KindScript, KindWorker, KindFetch}
	optional = []Kind{KindStyle, KindImage, KindFont}
)

// Reason codes of refusals, see [Fate].
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

// Fate is a request of a page and its outcome. The gate, the fetcher and the Policy refuse requests. The Policy's reasons
// are stable across versions:
//
//	kind             nothing of this kind is requested
//	method           nothing but GET is sent
//	frame            frames are not loaded: their addresses are links of the page
//	host_limit       another site than the page's, and the Policy does not allow it
//	render_requests  the page has made as many requests as the Policy allows
//	render_rounds    the page has had as many rounds as the Policy allows
//	render_wait      the page has waited for answers as long as the Policy allows
//	render_store     the store has no room
type Fate struct {
	// URL is what was requested, at most 2048 bytes of it. It need not be a URL that can be requested.
	URL string `json:"url"`
	// Method is the HTTP method if it is not GET.
	Method string `json:"method,omitempty"`
	// Kind says what the answer was for.
	Kind Kind `json:"kind"`
	// Status is the answer's status; 0 if there was none.
	Status int `json:"status,omitempty"`
	// Refused is the reason code of a refusal, see Fate; "" if there was none. If Status is 0 too, the answer is missing.
	Refused string `json:"refused,omitempty"`
}
