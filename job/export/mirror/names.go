package mirror

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/amble-crawler/amble/internal/hidden"
	"github.com/amble-crawler/amble/weburl"
)

const (
	maxName = 120 // bytes of the name of a file or directory: below the limit of any file system
	maxPath = 200 // bytes of a path: Windows allows 259, including the directory of the mirror
	index   = "index"
)

// place is a scheme for naming the file of a URL. If the name is taken, the next scheme is tried.
type place uint8

const (
	plain   place = iota // named as in the URL
	hashed               // named with a hash in the file name
	aside                // in a separate directory, with a hash as the name
	nowhere              // all names are taken
)

// asideName is the directory for files whose names are taken.
const asideName = "_aside"

// pathOf returns the path of the file for a URL of a media type, with slashes.
func pathOf(u weburl.URL, mediaType string, p place) string {
	host := component(hostName(u))
	sum := sha256.Sum256([]byte(u.String()))
	hash := hex.EncodeToString(sum[:])
	dirs := []string{host}
	parts := strings.Split(strings.TrimPrefix(u.Path(), "/"), "/")
	for _, s := range parts[:len(parts)-1] {
		dirs = append(dirs, component(decoded(s)))
	}
	name := decoded(parts[len(parts)-1])
	if name == "" {
		name = index
	}
	if q := u.Query(); q != "" {
		name += "@" + decoded(q)
	}
	base, ext := extension(name, mediaType)
	file := func(mark string) string { return path.Join(append(dirs, fileName(base, mark, ext))...) }
	full := file("")
	if p == hashed {
		full = file("~" + hash[:12])
	}
	if p == aside || len(full) > maxPath {
		return path.Join(host, asideName, hash[:32]+ext)
	}
	return full
}

// hostName returns the host, with the port unless it is the default of the scheme.
func hostName(u weburl.URL) string {
	name := u.Hostname()
	if port := u.Port(); port != "" && (u.Scheme() != "http" || port != "80") && (u.Scheme() != "https" || port != "443") {
		name += "+" + port
	}
	return name
}

// decoded decodes the percent-encodings in a part of a URL, if the result is text.
func decoded(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := hex.DecodeString(s[i+1 : i+3]); err == nil {
				b, i = append(b, c[0]), i+2
				continue
			}
		}
		b = append(b, s[i])
	}
	if !utf8.Valid(b) {
		return s
	}
	return string(b)
}

// component returns a name for a file or directory that is safe on every system: no separator, not hidden, not a Windows device,
// and not too long.
func component(s string) string {
	s = safe(s)
	if len(s) > maxName {
		s = shorten(s, "")
	}
	return s
}

// fileName is like component for a name with an extension, which it keeps.
func fileName(base, mark, ext string) string {
	name := safe(base + mark + ext)
	if len(name) > maxName {
		name = shorten(safe(base+mark), ext)
	}
	return name
}

// shorten cuts a name and adds a hash of the full name, so that names with the same beginning stay distinct.
func shorten(s, ext string) string {
	sum := sha256.Sum256([]byte(s))
	cut := maxName - len(ext) - 17
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "~" + hex.EncodeToString(sum[:8]) + ext
}

// safe replaces characters that a name must not have.
func safe(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case i == 0 && r == '.': // a hidden file, a server's settings file, or a parent directory
			b.WriteString("_.")
		case r < ' ' || strings.ContainsRune(`<>:"/\|?*`, r) || r > 0x7e && (hidden.Is(r) || !unicode.IsPrint(r)):
			for _, c := range []byte(string(r)) {
				b.WriteString("%" + strings.ToUpper(hex.EncodeToString([]byte{c})))
			}
		default:
			b.WriteRune(r)
		}
	}
	name := b.String()
	if last := len(name) - 1; last >= 0 && (name[last] == '.' || name[last] == ' ') { // Windows drops trailing dots and spaces
		name = name[:last] + "%" + strings.ToUpper(hex.EncodeToString([]byte{name[last]}))
	}
	if stem, _, _ := strings.Cut(name, "."); name == "" || device(strings.TrimRight(stem, " ")) {
		name = "_" + name
	}
	return name
}

// device reports whether Windows takes a name for a device.
func device(stem string) bool {
	switch s := strings.ToLower(stem); s {
	case "con", "prn", "aux", "nul", "conin$", "conout$":
		return true
	default:
		rest, com := strings.CutPrefix(s, "com")
		if !com {
			if rest, com = strings.CutPrefix(s, "lpt"); !com {
				return false
			}
		}
		return utf8.RuneCountInString(rest) == 1 && strings.Contains("0123456789¹²³", rest)
	}
}

// folded returns a path in the form in which systems compare it that ignore case or the composition of characters.
func folded(path string) string {
	return strings.ToLower(strings.ToUpper(norm.NFKC.String(path)))
}

// extensions are extensions whose media types file servers know. The first one of a type is appended to names without one.
var extensions = []struct{ ext, mediaType string }{
	{".html", "text/html"}, {".htm", "text/html"}, {".xhtml", "application/xhtml+xml"}, {".xht", "application/xhtml+xml"},
	{".css", "text/css"}, {".js", "text/javascript"}, {".mjs", "text/javascript"}, {".js", "application/javascript"}, {".js", "application/x-javascript"},
	{".json", "application/json"}, {".xml", "application/xml"}, {".xml", "text/xml"}, {".rss", "application/rss+xml"}, {".atom", "application/atom+xml"},
	{".txt", "text/plain"}, {".md", "text/markdown"}, {".csv", "text/csv"}, {".vtt", "text/vtt"}, {".ics", "text/calendar"},
	{".png", "image/png"}, {".jpg", "image/jpeg"}, {".jpeg", "image/jpeg"}, {".gif", "image/gif"}, {".webp", "image/webp"}, {".avif", "image/avif"},
	{".svg", "image/svg+xml"}, {".ico", "image/x-icon"}, {".ico", "image/vnd.microsoft.icon"}, {".bmp", "image/bmp"}, {".tiff", "image/tiff"},
	{".woff2", "font/woff2"}, {".woff", "font/woff"}, {".woff", "application/font-woff"}, {".ttf", "font/ttf"}, {".otf", "font/otf"}, {".eot", "application/vnd.ms-fontobject"},
	{".mp3", "audio/mpeg"}, {".ogg", "audio/ogg"}, {".wav", "audio/wav"}, {".mp4", "video/mp4"}, {".webm", "video/webm"},
	{".pdf", "application/pdf"}, {".zip", "application/zip"}, {".gz", "application/gzip"}, {".gz", "application/x-gzip"}, {".epub", "application/epub+zip"},
	{".webmanifest", "application/manifest+json"}, {".wasm", "application/wasm"},
}

// unknown is the extension for media types in no list. A server that runs programs must not run such a file.
const unknown = ".bin"

// extension splits a name. The returned extension makes a file server send the media type, whatever the URL ends with.
func extension(name, mediaType string) (base, ext string) {
	own := path.Ext(name)
	first := ""
	for _, e := range extensions {
		if e.mediaType != mediaType && (mediaType != "application/octet-stream" || active(e.mediaType)) {
			continue
		}
		if strings.EqualFold(own, e.ext) && own != name {
			return strings.TrimSuffix(name, own), own
		}
		if first == "" && e.mediaType == mediaType {
			first = e.ext
		}
	}
	if first == "" {
		first = unknown
	}
	return name, first
}

// active reports whether a browser may run content of this media type.
func active(mediaType string) bool {
	switch major, _, _ := strings.Cut(mediaType, "/"); major {
	case "image":
		return mediaType == "image/svg+xml"
	case "audio", "video", "font":
		return false
	}
	return mediaType != "application/zip" && mediaType != "application/gzip" && mediaType != "application/pdf"
}
