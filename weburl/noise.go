package weburl

// The names below are compared without regard to case, after percent-encoded letters have been decoded.

// trackingNames are the query parameters that say where a visitor came from, grouped by who adds them.
var trackingNames = makeSet(
	"gclid", "gclsrc", "dclid", "gbraid", "wbraid", "gad_source", "gad_campaignid", "srsltid", "_ga", "_gl", // Google
	"fbclid", "igshid", "igsh", // Meta
	"msclkid",                      // Microsoft
	"yclid", "ysclid", "_openstat", // Yandex
	"twclid", "ttclid", "li_fat_id", "epik", "rdt_cid", "sccid", // X, TikTok, LinkedIn, Pinterest, Reddit, Snap
	"mc_cid", "mc_eid", // Mailchimp
	"_hsenc", "_hsmi", "hsctatracking", // HubSpot
	"mkt_tok",              // Marketo
	"vero_id", "vero_conv", // Vero
	"oly_anon_id", "oly_enc_id", // Omeda
	"s_kwcid", "ef_id", // Adobe
	"wickedid", "zanpid", "irclickid", // affiliate networks
)

// trackingPrefixes has the prefixes of families of names: the campaigns of Urchin, Matomo and Piwik.
var trackingPrefixes = []string{"utm_", "mtm_", "pk_", "piwik_"}

// sessionNames has the names of parameters, in query and path, that identify a session.
var sessionNames = makeSet(
	"jsessionid",      // Java servlets
	"phpsessid",       // PHP
	"cfid", "cftoken", // ColdFusion
	"zenid", "oscsid", // Zen Cart, osCommerce
)

// sessionPrefixes has the prefix of the names to which ASP appends letters.
var sessionPrefixes = []string{"aspsessionid"}

// tokenNames has names that are also used otherwise: such a parameter identifies a session only if its value looks like a token.
var tokenNames = makeSet("sid", "session", "sessionid", "session_id", "sess", "sessid")

// minToken is the minimum length of a value that looks like a session token, in bytes.
const minToken = 16

// indexNames and indexExtensions form the names of the files that servers send for a directory.
var (
	indexNames      = makeSet("index", "default")
	indexExtensions = makeSet("html", "htm", "shtml", "xhtml", "php", "asp", "aspx", "jsp", "cgi", "cfm")
)

func makeSet(names ...string) map[string]struct{} {
	m := make(map[string]struct{}, len(names))
	for _, n := range names {
		m[n] = struct{}{}
	}
	return m
}

// maxName is greater than the length of every name above, so a name that is cut to it is in no set.
const maxName = 32

// contains reports whether a name is in a set or begins with one of the prefixes, ignoring case. It does not allocate.
func contains[T string | []byte](set map[string]struct{}, prefixes []string, name T) bool {
	var space [maxName]byte
	low := space[:min(len(name), maxName)]
	for i := range low {
		low[i] = lower(name[i])
	}
	for _, p := range prefixes {
		if len(low) >= len(p) && string(low[:len(p)]) == p {
			return true
		}
	}
	_, ok := set[string(low)]
	return ok
}

// isNoise reports whether a query parameter does not affect the content of a page. Its name is the first name bytes.
func isNoise[T string | []byte](parameter T, name int) bool {
	return contains(trackingNames, trackingPrefixes, parameter[:name]) || isSession(parameter)
}

// isSession reports whether a parameter "name=value" identifies a session.
func isSession[T string | []byte](parameter T) bool {
	p := parameterAt(parameter, 0)
	if p.name == len(parameter) {
		return false
	}
	name := parameter[:p.name]
	return contains(sessionNames, sessionPrefixes, name) ||
		contains(tokenNames, nil, name) && isToken(parameter[p.name+1:])
}

func isToken[T string | []byte](value T) bool {
	for i := range len(value) {
		c := lower(value[i])
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return len(value) >= minToken
}

// isIndex reports whether file is the name of a file that servers send for its directory.
func isIndex(file []byte) bool {
	for i, c := range file {
		if c == '.' {
			return contains(indexNames, nil, file[:i]) && contains(indexExtensions, nil, file[i+1:])
		}
	}
	return false
}

// Sessionless returns the text of u without the parameters in query and path that identify a visitor's session, and true if it had any.
// [Usual] describes these parameters; nothing else is changed. URLs with the same Sessionless text differ only in the session. Do not
// request this text, because servers may require a session. Sessionless allocates only if there was a session.
func (u URL) Sessionless() (text string, had bool) {
	if u.href == "" {
		return "", false
	}
	var space [512]byte
	path := int(u.marks.path)
	dst := append(space[:0], u.href[:path]...)
	dst = appendSessionless(dst, u.Path())
	query := u.href[u.marks.query:]
	for i, sep := 1, byte('?'); i <= len(query); {
		p := parameterAt(query, i)
		if !isSession(query[p.start:p.end]) {
			dst = append(append(dst, sep), query[p.start:p.end]...)
			sep = '&'
		}
		i = p.end + 1
	}
	if len(dst) == len(u.href) {
		return u.href, false
	}
	return string(dst), true
}
