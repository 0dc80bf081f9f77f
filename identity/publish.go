package identity

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
)

// served is a published file, with how it must be served.
type served struct {
	url    string // path in the URL
	file   string // path in the folder, with a leading slash
	kind   string // media type
	header http.Header
	body   []byte
}

// published returns all files made from the Profile and the keys. Private halves are used only to sign; no file contains them.
func published(p *Profile, keys []directoryKey, now time.Time) ([]served, error) {
	directory, err := publishedDirectory(p, keys, now)
	if err != nil {
		return nil, err
	}
	var ids []string
	var retired []PublicKey
	for _, k := range keys {
		if k.listed(now) {
			ids = append(ids, k.public.ID)
		} else if !k.compromised {
			retired = append(retired, k.public)
		}
	}
	page, err := p.page(ids, now)
	if err != nil {
		return nil, err
	}
	return []served{
		directory,
		{p.beside(cardName), p.beside(cardName), cardType, cached(24 * time.Hour), p.card()},
		{p.beside(rangesName), p.beside(rangesName), rangesType, cached(time.Hour), p.ranges(now)},
		{p.beside(retiredName), p.beside(retiredName), cardType, cached(24 * time.Hour), append(marshalDirectory(retired), '\n')},
		{p.servedPath(), p.pageFile(), pageType, p.pageHeader(), page},
	}, nil
}

// directoryKey is a key with its public entry. private may be nil if the key is no longer in the directory.
type directoryKey struct {
	public      PublicKey
	private     *Key
	compromised bool
}

// listed reports whether the key must be in the directory: until the last signature by it has expired.
func (k *directoryKey) listed(now time.Time) bool {
	return !k.compromised && (k.public.Expires.IsZero() || now.Before(k.public.Expires))
}

func publishedDirectory(p *Profile, keys []directoryKey, now time.Time) (served, error) {
	var public []PublicKey
	var private []*Key
	for _, k := range keys {
		if !k.listed(now) {
			continue
		}
		if k.private == nil {
			return served{}, fmt.Errorf("identity: the file of key %s is missing: the directory cannot be signed with it", k.public.ID)
		}
		public, private = append(public, k.public), append(private, k.private)
	}
	body := marshalDirectory(public)
	h, err := signDirectory(body, p.authority(), private, now, now.Add(directoryLifetime))
	if err != nil {
		return served{}, err
	}
	h.Set("Cache-Control", cached(directoryAge).Get("Cache-Control"))
	h.Set("Access-Control-Allow-Origin", "*")
	return served{directoryPath, directoryPath, directoryType, h, body}, nil
}

func cached(age time.Duration) http.Header {
	return http.Header{"Cache-Control": {fmt.Sprintf("public, max-age=%d", int(age.Seconds()))}}
}

// pageHeader returns the link elements of the page as header fields, for clients that do not parse HTML.
func (p *Profile) pageHeader() http.Header {
	h := cached(time.Hour)
	h.Set("Content-Security-Policy", contentSecurityPolicy()+"; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	links := "<" + p.CardURL() + `>; rel="describedby"; type="` + cardType + `"`
	if len(p.Addresses) > 0 {
		links = "<" + p.RangesURL() + `>; rel="client-ranges"; type="` + rangesType + `", ` + links
	}
	h.Set("Link", links)
	return h
}

// servedPath returns the path at which a static host serves the page, after the redirect to the folder.
func (p *Profile) servedPath() string {
	if file := p.pageFile(); path.Base(file) != "index.html" || strings.HasSuffix(p.pagePath(), "index.html") {
		return file
	}
	return strings.TrimSuffix(path.Dir(p.pageFile()), "/") + "/"
}

// headerNames returns the names of header fields in a fixed order.
func headerNames(h http.Header) []string {
	var names []string
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// nginxConfig returns a configuration to be included in a server block of nginx. It serves the folder.
func nginxConfig(p *Profile, files []served) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `# How nginx serves the identity of %s at %s.
# Written by amble, anew each time: include it in the server block whose root is the public folder.
# It changes with the keys: reload nginx after uploading.
`, p.Product, p.Origin())
	for _, f := range files {
		fmt.Fprintf(&b, "\nlocation = %s {\n    types { }\n    default_type %s;\n    gzip off;\n", f.file, nginxString(f.kind))
		for _, name := range headerNames(f.header) {
			fmt.Fprintf(&b, "    add_header %s %s;\n", name, nginxString(f.header.Get(name)))
		}
		b.WriteString("}\n")
	}
	return []byte(b.String())
}

// nginxString quotes a value. No value contains a $, with which variables of nginx begin.
func nginxString(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

// headersFile returns the same configuration for static hosts that read a file named _headers.
func headersFile(files []served) []byte {
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintf(&b, "%s\n  Content-Type: %s\n", f.url, f.kind)
		for _, name := range headerNames(f.header) {
			fmt.Fprintf(&b, "  %s: %s\n", name, f.header.Get(name))
		}
	}
	return []byte(b.String())
}
