package identity

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// testNames is a simulated DNS.
type testNames struct {
	names map[string][]string // addresses by name
	addrs map[string][]string // names by address
	err   error
	asked int
}

func (n *testNames) LookupAddr(_ context.Context, addr string) ([]string, error) {
	if n.asked++; n.err != nil {
		return nil, n.err
	}
	if names := n.names[addr]; len(names) > 0 {
		return names, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: addr, IsNotFound: true}
}

func (n *testNames) LookupHost(_ context.Context, host string) ([]string, error) {
	if addrs := n.addrs[host]; len(addrs) > 0 {
		return addrs, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// namesOf returns a DNS in which every address has a name that resolves to it.
func namesOf(prefixes ...netip.Prefix) *testNames {
	n := &testNames{names: map[string][]string{}, addrs: map[string][]string{}}
	for _, p := range prefixes {
		addrs, _ := sample(p, maxLookups)
		for _, a := range addrs {
			name := "crawl-" + strings.NewReplacer(".", "-", ":", "-").Replace(a.String()) + ".lab.university.edu"
			n.names[a.String()] = []string{name + "."}
			n.addrs[name] = []string{a.String()}
		}
	}
	return n
}

// site is a published identity into which a test puts defects.
type site struct {
	*Folder
	get map[string]*Response
	t   *testing.T
}

// newSite returns a correct identity as served.
func newSite(t *testing.T) *site {
	f := mustInit(t, testProfile())
	s := &site{f, map[string]*Response{}, t}
	from := folderGet(os.DirFS(f.PublicDir()), f.state.Profile.Origin())
	p := f.Profile()
	for _, at := range []string{p.Page, p.Page + "/", p.DirectoryURL(), p.CardURL(), p.RangesURL()} {
		r, err := from(context.Background(), at)
		if err != nil {
			t.Fatal(err)
		}
		s.get[at] = r
	}
	return s
}

// clone returns a copy of the site for one case.
func (s *site) clone(t *testing.T) *site {
	c := &site{s.Folder, map[string]*Response{}, t}
	for at, r := range s.get {
		c.get[at] = &Response{r.Status, r.Header.Clone(), slices.Clone(r.Body)}
	}
	return c
}

func (s *site) fetch(_ context.Context, at string) (*Response, error) {
	r, ok := s.get[at]
	if !ok {
		return nil, errors.New("connection refused")
	}
	return r, nil
}

func (s *site) page() *Response      { return s.get[s.state.Profile.Page+"/"] }
func (s *site) directory() *Response { return s.get[s.state.Profile.DirectoryURL()] }
func (s *site) card() *Response      { return s.get[s.state.Profile.CardURL()] }
func (s *site) ranges() *Response    { return s.get[s.state.Profile.RangesURL()] }

// edit replaces text that must occur in a body.
func (s *site) edit(r *Response, from, to string) {
	s.t.Helper()
	if !strings.Contains(string(r.Body), from) {
		s.t.Fatalf("no %q in\n%s", from, r.Body)
	}
	r.Body = []byte(strings.Replace(string(r.Body), from, to, 1))
}

// resign signs a directory again after it was edited.
func (s *site) resign(created, expires time.Time, authority string) {
	h, err := signDirectory(s.directory().Body, authority, []*Key{s.keys[0].private}, created, expires)
	if err != nil {
		s.t.Fatal(err)
	}
	for name := range h {
		s.directory().Header[name] = h[name]
	}
}

func (s *site) check(now time.Time) *Report {
	s.t.Helper()
	r, err := s.Check(context.Background(), s.fetch, namesOf(s.state.Profile.Addresses...), now)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func TestCheckFindsNothing(t *testing.T) {
	s := newSite(t)
	r := s.check(start)
	if len(r.Defects) > 0 || !r.OK() || !slices.Equal(r.Keys, []string{s.keys[0].public.ID}) || len(r.Checked) != 5 {
		t.Errorf("%+v", r)
	}
	r, err := Check(context.Background(), s.state.Profile.Page, CheckConfig{Get: s.fetch, Now: start})
	if err != nil || len(r.Defects) > 0 || !slices.Contains(r.Notes, "the source addresses were not looked up: no resolver was given") {
		t.Errorf("without a Profile: %+v %v", r, err)
	}
}

// Each defect is reported, and no other.
func TestCheckNamesEachDefect(t *testing.T) {
	other, whole := mustKey(t), newSite(t)
	for name, c := range map[string]struct {
		spoil func(*site)
		want  []string // parts of the defects' texts; those after "!" must not occur
	}{
		// Contact page.
		"no page":                {func(s *site) { s.page().Status = 404 }, []string{"!the contact page answers with status 404"}},
		"page as text":           {func(s *site) { s.page().Header.Set("Content-Type", "text/plain") }, []string{"!the contact page is served as \"text/plain\""}},
		"page redirects":         {func(s *site) { s.get[s.state.Profile.Page].Header.Set("Location", "https://other.edu/") }, []string{"!redirects to \"https://other.edu/\""}},
		"page cannot be fetched": {func(s *site) { delete(s.get, s.state.Profile.Page) }, []string{"!connection refused"}},
		"no contact": {func(s *site) {
			s.edit(s.page(), `<a href="mailto:crawl@lab.university.edu">crawl@lab.university.edu</a>`, "us")
		}, []string{"!does not give the contact crawl@lab"}},
		"another product": {func(s *site) { s.page().Body = []byte(strings.ReplaceAll(string(s.page().Body), "labbot", "bot")) }, []string{"!does not name \"labbot\""}},
		"no robots.txt": {func(s *site) {
			s.edit(s.page(), "Disallow: /</pre>", "</pre>")
			s.edit(s.page(), "<code>Disallow: /private/</code>", "")
		}, []string{"no robots.txt that blocks"}},
		"another User-Agent":      {func(s *site) { s.edit(s.page(), "labbot/1.2 (", "labbot/1.1 (") }, []string{"does not show the User-Agent"}},
		"ranges only in the card": {func(s *site) { s.edit(s.page(), `rel="client-ranges"`, `rel="x"`); s.page().Header.Del("Link") }, []string{"!the page does not link the address ranges"}},
		"links in the header": {func(s *site) {
			s.edit(s.page(), `rel="client-ranges"`, `rel="x"`)
			s.edit(s.page(), `rel="describedby"`, `rel="x"`)
		}, nil},

		// Agent card.
		"no card":              {func(s *site) { s.card().Status = 404 }, []string{"!the agent card answers with status 404"}},
		"card redirects":       {func(s *site) { s.card().Status = 302; s.card().Header.Set("Location", "/x") }, []string{"!the agent card answers with a redirect (302)"}},
		"card as text":         {func(s *site) { s.card().Header.Set("Content-Type", "text/plain") }, []string{"the agent card is served as"}},
		"card is no JSON":      {func(s *site) { s.card().Body = []byte("<html>") }, []string{"!the agent card is not a JSON object: syntax error at byte 1"}},
		"card too long":        {func(s *site) { s.card().Body = append(s.card().Body, make([]byte, maxCardBytes)...) }, []string{"!the agent card is longer"}},
		"another client_id":    {func(s *site) { s.edit(s.card(), `crawl/signature-agent-card.json`, "card.json") }, []string{"!\"client_id\" is \"https://lab.university.edu/card.json\""}},
		"no name":              {func(s *site) { s.edit(s.card(), `"client_name"`, `"name"`) }, []string{"\"client_name\" is missing"}},
		"no contacts":          {func(s *site) { s.edit(s.card(), `"contacts"`, `"contact"`) }, []string{"\"contacts\" names nobody"}},
		"a bare address":       {func(s *site) { s.edit(s.card(), `"mailto:`, `"`) }, []string{"is not a URI"}},
		"jwks and jwks_uri":    {func(s *site) { s.edit(s.card(), `"jwks_uri"`, `"jwks": {"keys": []}, "jwks_uri"`) }, []string{"!both \"jwks\" and \"jwks_uri\""}},
		"no jwks_uri":          {func(s *site) { s.edit(s.card(), `"jwks_uri"`, `"jwksuri"`) }, []string{"!names no keys"}},
		"jwks_uri over http":   {func(s *site) { s.edit(s.card(), `"jwks_uri": "https:`, `"jwks_uri": "http:`) }, []string{"!\"jwks_uri\" is \"http:"}},
		"compliance as a list": {func(s *site) { s.edit(s.card(), `"rfc9309-compliance": true`, `"rfc9309-compliance": ["User-Agent"]`) }, []string{"!not a boolean"}},
		"compliance false":     {func(s *site) { s.edit(s.card(), `"rfc9309-compliance": true`, `"rfc9309-compliance": false`) }, []string{"cannot assume"}},
		"trigger":              {func(s *site) { s.edit(s.card(), `"trigger": "crawler"`, `"trigger": "cron"`) }, []string{"!\"trigger\" is \"cron\""}},
		"card's agent":         {func(s *site) { s.edit(s.card(), `labbot/1.2`, `labbot/1.3`) }, []string{"!\"expected-user-agent\" is"}},
		"card's token":         {func(s *site) { s.edit(s.card(), `"rfc9309-product-token": "labbot"`, `"rfc9309-product-token": "bot"`) }, []string{"!robots.txt is read for \"labbot\""}},
		"no extension":         {func(s *site) { s.edit(s.card(), `"web_bot_auth"`, `"web-bot-auth"`) }, []string{"\"web_bot_auth\" is missing"}},
		"other ranges":         {func(s *site) { s.edit(s.card(), `crawl/ips.json`, `ips.json`) }, []string{"!and the page names"}},
		"ranges over http":     {func(s *site) { s.edit(s.card(), `"ips_uri": "https:`, `"ips_uri": "http:`) }, []string{"!\"ips_uri\" is \"http:"}},
		"the directory elsewhere": {func(s *site) {
			s.edit(s.card(), `"jwks_uri": "https://lab.university.edu/.well-known/http-message-signatures-directory"`, `"jwks_uri": "https://lab.university.edu/keys.json"`)
			s.get["https://lab.university.edu/keys.json"] = s.directory()
		}, []string{"!requests name"}},

		// Key directory.
		"no directory": {func(s *site) { s.directory().Status = 404 }, []string{"!the key directory answers with status 404"}},
		"directory redirects": {func(s *site) {
			s.directory().Status = 301
			s.directory().Header.Set("Location", "https://www.lab.university.edu/")
		}, []string{"!the key directory answers with a redirect"}},
		"directory's type":   {func(s *site) { s.directory().Header.Set("Content-Type", "application/octet-stream") }, []string{"!the key directory is served as \"application/octet-stream\""}},
		"directory's age":    {func(s *site) { s.directory().Header.Del("Cache-Control") }, []string{"how long they may keep"}},
		"directory unsigned": {func(s *site) { s.directory().Header.Del("Signature-Input") }, []string{"the key directory is not signed"}},
		"directory edited":   {func(s *site) { s.directory().Body = append(s.directory().Body, '\n') }, []string{"!the Content-Digest is not the digest of the body"}},
		"directory compressed": {func(s *site) {
			s.directory().Body = append(s.directory().Body, '\n')
			s.directory().Header.Set("Content-Encoding", "gzip")
		}, []string{"!without compression"}},
		"no digest":               {func(s *site) { s.directory().Header.Del("Content-Digest") }, []string{"!no member \"sha-256\""}},
		"signed for another host": {func(s *site) { s.resign(start, start.Add(directoryLifetime), "other.edu") }, []string{"!not a signature of this directory at lab.university.edu"}},
		"signed in the future":    {func(s *site) { s.resign(start.Add(time.Hour), start.Add(directoryLifetime), "lab.university.edu") }, []string{"!1h0m0s in the future"}},
		"signed long ago":         {func(s *site) { s.resign(start.Add(-directoryLifetime), start.Add(-time.Hour), "lab.university.edu") }, []string{"!expired 1h0m0s ago"}},
		"signed for a week more":  {func(s *site) { s.resign(start, start.Add(7*24*time.Hour), "lab.university.edu") }, []string{"ends on 2026-11-29"}},
		"signature broken":        {func(s *site) { s.directory().Header.Set("Signature", "binding=:AAAA:") }, []string{"!not a signature of this directory"}},
		"signature missing":       {func(s *site) { s.directory().Header.Set("Signature", "x=:AAAA:") }, []string{"!no member \"binding\""}},
		"host not covered": {func(s *site) {
			s.directory().Header.Set("Signature-Input", strings.Replace(s.directory().Header.Get("Signature-Input"), `"@authority";req `, "", 1))
		}, []string{"!\"@authority\";req is not covered"}},
		"another tag": {func(s *site) {
			s.directory().Header.Set("Signature-Input", strings.Replace(s.directory().Header.Get("Signature-Input"), tagDirectory, "x", 1))
		}, []string{"the directory is not signed by its key"}},
		"no JSON": {func(s *site) {
			s.directory().Body = []byte("nope")
			s.resign(start, start.Add(directoryLifetime), "lab.university.edu")
		}, []string{"!not a JSON object"}},
		"no keys": {func(s *site) {
			s.directory().Body = []byte(`{"keys":[]}`)
			s.resign(start, start.Add(directoryLifetime), "lab.university.edu")
		}, []string{"!no key of the directory can be used"}},
		"another kid": {func(s *site) { s.edit(s.directory(), `"kid":"`, `"kid":"x`) }, []string{"!and not the key's thumbprint", "!no key of the directory can be used"}},
		"the private half": {func(s *site) {
			s.edit(s.directory(), `"use"`, `"d":"hunter2","use"`)
			s.resign(start, start.Add(directoryLifetime), "lab.university.edu")
		}, []string{"!WITH ITS PRIVATE HALF"}},
		"a key of an RFC": {func(s *site) {
			k := rfcKey(s.t)
			s.directory().Body = marshalDirectory([]PublicKey{s.keys[0].public, {ID: k.ID(), Key: k.Public()}})
			h, err := signDirectory(s.directory().Body, "lab.university.edu", []*Key{s.keys[0].private, k}, start, start.Add(directoryLifetime))
			if err != nil {
				s.t.Fatal(err)
			}
			for name := range h {
				s.directory().Header[name] = h[name]
			}
		}, []string{"!is printed in a standard"}},
		"a key twice": {func(s *site) {
			s.directory().Body = marshalDirectory([]PublicKey{s.keys[0].public, s.keys[0].public})
			s.resign(start, start.Add(directoryLifetime), "lab.university.edu")
		}, []string{"!listed twice"}},
		"a key that expired": {func(s *site) {
			p := s.keys[0].public
			p.Expires = start.Add(-time.Hour)
			s.directory().Body = marshalDirectory([]PublicKey{p})
			s.resign(start, start.Add(directoryLifetime), "lab.university.edu")
		}, []string{"expired on 2026-11-22", "!the key that signs now"}},
		"another key": {func(s *site) {
			s.directory().Body = marshalDirectory([]PublicKey{{ID: other.ID(), Key: other.Public()}})
			h, err := signDirectory(s.directory().Body, "lab.university.edu", []*Key{other}, start, start.Add(directoryLifetime))
			if err != nil {
				s.t.Fatal(err)
			}
			for name := range h {
				s.directory().Header[name] = h[name]
			}
		}, []string{"!the key that signs now"}},
		"a key without its signature": {func(s *site) {
			s.directory().Body = marshalDirectory([]PublicKey{s.keys[0].public, {ID: other.ID(), Key: other.Public()}})
			s.resign(start, start.Add(directoryLifetime), "lab.university.edu")
		}, []string{"is not signed by its key " + other.ID()}},

		// Address ranges.
		"no ranges":            {func(s *site) { s.ranges().Status = 500 }, []string{"!the list of address ranges answers with status 500"}},
		"ranges' type":         {func(s *site) { s.ranges().Header.Set("Content-Type", "text/plain") }, []string{"the address ranges are served as"}},
		"plain JSON is enough": {func(s *site) { s.ranges().Header.Set("Content-Type", "application/json") }, nil},
		"ranges too long":      {func(s *site) { s.ranges().Body = append(s.ranges().Body, make([]byte, maxRangesBytes)...) }, []string{"!the list of address ranges is longer"}},
		"no time":              {func(s *site) { s.edit(s.ranges(), `creationTime`, `created`) }, []string{"!\"creationTime\" is \"\""}},
		"local time":           {func(s *site) { s.edit(s.ranges(), `12:00:00Z`, `12:00:00+01:00`) }, []string{"!not a time in UTC"}},
		"a time to come":       {func(s *site) { s.edit(s.ranges(), `2026-`, `2027-`) }, []string{"in the future"}},
		"an old list":          {func(s *site) { s.edit(s.ranges(), `-22T`, `-19T`) }, []string{"3 days old"}},
		"no prefixes":          {func(s *site) { s.edit(s.ranges(), `"prefixes"`, `"ranges"`) }, []string{"!\"prefixes\" is missing", "!198.51.100.16/30 is missing", "!2001:db8:7::4/126 is missing"}},
		"prefixes are text":    {func(s *site) { s.ranges().Body = []byte(`{"prefixes":["198.51.100.16/30"]}`) }, []string{"!an array \"prefixes\" of objects"}},
		"both families": {func(s *site) {
			s.edit(s.ranges(), `"ipv4Prefix": "198.51.100.16/30"`, `"ipv4Prefix": "198.51.100.16/30", "ipv6Prefix": "2001:db8::/32"`)
		},
			[]string{"!exactly one of", "!198.51.100.16/30 is missing"}},
		"the other family": {func(s *site) { s.edit(s.ranges(), `"ipv4Prefix"`, `"ipv6Prefix"`) }, []string{"!of the other family", "!198.51.100.16/30 is missing"}},
		"no CIDR":          {func(s *site) { s.edit(s.ranges(), `198.51.100.16/30`, `198.51.100.16`) }, []string{"!not in CIDR notation", "!198.51.100.16/30 is missing"}},
		"host bits":        {func(s *site) { s.edit(s.ranges(), `198.51.100.16/30`, `198.51.100.17/30`) }, []string{"!bits set behind the prefix", "!198.51.100.16/30 is missing"}},
		"private":          {func(s *site) { s.edit(s.ranges(), `198.51.100.16/30`, `10.0.0.0/8`) }, []string{"!nobody outside sees", "!198.51.100.16/30 is missing"}},
		"loopback":         {func(s *site) { s.edit(s.ranges(), `198.51.100.16/30`, `127.0.0.0/8`) }, []string{"!nobody outside sees", "!198.51.100.16/30 is missing"}},

		"a clock behind": {func(s *site) { s.card().Header.Set("Date", start.Add(-time.Hour).Format(http.TimeFormat)) }, []string{"differs from this machine's by 1h0m0s"}},
		"clocks differ":  {func(s *site) { s.card().Header.Set("Date", start.Add(time.Hour).Format(http.TimeFormat)) }, []string{"differs from this machine's by 1h0m0s"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := whole.clone(t)
			c.spoil(s)
			r := s.check(start)
			missing, must := slices.Clone(c.want), false
			for _, d := range r.Defects {
				line := d.String()
				i := slices.IndexFunc(missing, func(w string) bool { return strings.Contains(line, strings.TrimPrefix(w, "!")) })
				if i < 0 {
					t.Errorf("found, too: %s", line)
					continue
				}
				if strings.HasPrefix(missing[i], "!") != d.Must {
					t.Errorf("must is %v: %s", d.Must, line)
				}
				missing = slices.Delete(missing, i, i+1)
				must = must || d.Must
			}
			for _, w := range missing {
				t.Errorf("not found: %s", w)
			}
			if r.OK() == must {
				t.Errorf("OK is %v", r.OK())
			}
		})
	}
}

// A page not created by this package is also checked, along with its links.
func TestCheckOfAStrangersPage(t *testing.T) {
	pages := map[string]*Response{
		"https://bot.edu/": {Status: 200, Header: http.Header{"Content-Type": {"text/html"}, "Link": {`<ranges.json>; rel="other client-ranges", <x>; rel=next`}},
			Body: []byte(`<p>Write to bot@bot.edu. User-agent: b<br>Disallow: /<script>"user-agent: x"</script>`)},
		"https://bot.edu/ranges.json": {Status: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(`{"creationTime":"2026-11-22T11:00:00Z","prefixes":[]}`)},
		"https://bot.edu" + directoryPath: {Status: 200, Header: http.Header{"Content-Type": {directoryType}, "Cache-Control": {"max-age=60"}},
			Body: marshalDirectory([]PublicKey{{ID: mustKey(t).ID(), Key: mustKey(t).Public()}})},
	}
	r, err := Check(context.Background(), "https://bot.edu/", CheckConfig{Now: start, Get: func(_ context.Context, at string) (*Response, error) {
		if r, ok := pages[at]; ok {
			return r, nil
		}
		return nil, fmt.Errorf("nothing at %s", at)
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"no Signature Agent Card is named", "and not the key's thumbprint", "no key of the directory can be used"}
	if len(r.Defects) != len(want) {
		t.Errorf("%v", r.Defects)
	}
	for i, d := range r.Defects {
		if i < len(want) && !strings.Contains(d.What, want[i]) {
			t.Errorf("%v", d)
		}
	}
}

// A Signature-Agent that is an origin conforms to earlier drafts. It is reported, but not as a defect.
func TestCheckOfAnOlderSignatureAgent(t *testing.T) {
	p := testProfile()
	p.SignatureAgent = "https://lab.university.edu"
	f := mustInit(t, p)
	r, err := f.Check(context.Background(), nil, namesOf(p.Addresses...), start)
	if err != nil || len(r.Defects) > 0 || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "verifiers from httpsig-protocol-01 on") {
		t.Errorf("%+v %v", r, err)
	}
	s, err := f.Signer()
	if err != nil || s.Agent() != p.SignatureAgent {
		t.Errorf("%v %v", s, err)
	}
}

// TestCheckOverTLS checks an identity over TLS with a net/http server that applies the file _headers.
func TestCheckOverTLS(t *testing.T) {
	var from Get
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, err := from(r.Context(), "https://"+r.Host+r.URL.Path)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		maps.Copy(w.Header(), got.Header)
		w.WriteHeader(got.Status)
		_, _ = w.Write(got.Body)
	}))
	defer server.Close()
	p := testProfile()
	p.Page = server.URL + "/crawl"
	f, err := Init(filepath.Join(t.TempDir(), "identity"), p, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	from = folderGet(os.DirFS(f.PublicDir()), server.URL)
	client := server.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	l := &loopback{client: client}
	r, err := f.Check(context.Background(), l.get, namesOf(p.Addresses...), time.Now())
	if err != nil || len(r.Defects) > 0 || len(r.Checked) != 5 {
		t.Errorf("%+v %v", r, err)
	}
	server.Close()
	if r, err = f.Check(context.Background(), l.get, nil, time.Now()); err != nil || r.OK() {
		t.Errorf("an unreachable server: %+v %v", r, err)
	}
}

func TestCheckRefuses(t *testing.T) {
	get := func(context.Context, string) (*Response, error) { return nil, errors.New("no") }
	for _, page := range []string{"", "lab.edu", "http://lab.edu/", "ftp://lab.edu", "https://", "https://u:p@lab.edu/"} {
		if _, err := Check(context.Background(), page, CheckConfig{Get: get}); err == nil {
			t.Errorf("%q was checked", page)
		}
	}
	if _, err := Check(context.Background(), "https://lab.edu/", CheckConfig{}); err == nil {
		t.Error("checked without a Get")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Check(ctx, "https://lab.edu/", CheckConfig{Get: get}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestCheckLooksAddressesUp(t *testing.T) {
	s := newSite(t)
	for name, c := range map[string]struct {
		spoil func(*testNames)
		want  []string
		notes int
	}{
		"all is well":     {func(*testNames) {}, nil, 0},
		"no name":         {func(n *testNames) { delete(n.names, "198.51.100.17") }, []string{"198.51.100.17: the address has no name"}, 0},
		"no way back":     {func(n *testNames) { n.names["198.51.100.18"] = []string{"other.edu."} }, []string{"198.51.100.18: its name \"other.edu.\" does not lead back"}, 0},
		"another address": {func(n *testNames) { n.addrs["crawl-2001-db8-7--5.lab.university.edu"] = []string{"2001:db8:7::6"} }, []string{"2001:db8:7::5: its name"}, 0},
		"one of two names": {func(n *testNames) {
			n.names["198.51.100.18"] = append([]string{"other.edu."}, n.names["198.51.100.18"]...)
		}, nil, 0},
		"no resolver": {func(n *testNames) { n.err = &net.DNSError{Err: "timeout", IsTimeout: true} }, nil, 1},
	} {
		n := namesOf(s.state.Profile.Addresses...)
		c.spoil(n)
		r, err := s.Check(context.Background(), s.fetch, n, start)
		if err != nil || len(r.Defects) != len(c.want) || len(r.Notes) != c.notes {
			t.Errorf("%s: %v %v %v", name, r.Defects, r.Notes, err)
			continue
		}
		for i, d := range r.Defects {
			if !strings.Contains(d.String(), c.want[i]) || d.Must {
				t.Errorf("%s: %v", name, d)
			}
		}
		if c.notes > 0 && n.asked != maxSilent {
			t.Errorf("%s: asked %d times", name, n.asked)
		}
	}
}

func TestSample(t *testing.T) {
	for _, c := range []struct {
		prefix      string
		n, want     int
		first, last string
		all         bool
	}{
		{"198.51.100.16/30", 256, 4, "198.51.100.16", "198.51.100.19", true},
		{"198.51.100.7/32", 256, 1, "198.51.100.7", "198.51.100.7", true},
		{"198.51.100.0/24", 256, 256, "198.51.100.0", "198.51.100.255", true},
		{"198.51.0.0/16", 256, 256, "198.51.0.0", "198.51.255.255", false},
		{"2001:db8::/32", 3, 3, "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", false},
		{"::/0", 2, 2, "::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", false},
		{"0.0.0.0/0", 1, 1, "0.0.0.0", "0.0.0.0", false},
		{"198.51.100.0/24", 0, 0, "", "", false},
	} {
		got, all := sample(netip.MustParsePrefix(c.prefix), c.n)
		if len(got) != c.want || all != c.all || c.want > 0 && (got[0].String() != c.first || got[len(got)-1].String() != c.last) {
			t.Errorf("%s: %d %v", c.prefix, len(got), all)
		}
		for _, a := range got {
			if !netip.MustParsePrefix(c.prefix).Contains(a) {
				t.Errorf("%s: %v", c.prefix, a)
			}
		}
	}
}

// The report on any published identity has a limited size.
func TestReportIsBounded(t *testing.T) {
	s := newSite(t)
	var b strings.Builder
	b.WriteString(`{"creationTime":"\u001b[2Jx","prefixes":[{"ipv4Prefix":"` + strings.Repeat("\\u202ex", 5000) + `"}`)
	for range 20000 {
		b.WriteString(`,{}`)
	}
	b.WriteString("]}")
	s.ranges().Body = []byte(b.String())
	long := "https://lab.university.edu/" + strings.Repeat("x", 100000)
	s.edit(s.page(), s.state.Profile.CardURL(), long)
	s.get[long] = s.card()
	r := s.check(start)
	if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "the first 1000 are checked") }) {
		t.Errorf("notes: %q", r.Notes)
	}
	if len(r.Defects) != maxDefects || !slices.Contains(r.Notes, tooMany) || len(r.Notes) > 10 {
		t.Errorf("%d defects, notes %q", len(r.Defects), r.Notes)
	}
	for _, line := range append(r.Checked, r.Notes...) {
		if len(line) > 4000 {
			t.Errorf("%d bytes: %.100q", len(line), line)
		}
	}
	for _, d := range r.Defects {
		if line := d.String(); len(line) > 1000 || strings.ContainsAny(line, "\x1b\u202e\n") {
			t.Errorf("%d bytes: %q", len(line), line)
		}
	}
}

func TestSecretsInAPublicFolder(t *testing.T) {
	pem := "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ+D\n-----END PRIVATE KEY-----\n"
	fsys := fstest.MapFS{
		"key.pem":     {Data: []byte(pem)},
		"a/rsa.txt":   {Data: []byte("x\n-----BEGIN RSA PRIVATE KEY-----\n")},
		"a/ssh":       {Data: []byte("-----BEGIN OPENSSH PRIVATE KEY-----")},
		"jwk.json":    {Data: []byte(`{"keys":[{"kty":"OKP", "crv":"Ed25519", "x":"a", "d": "b"}]}`)},
		"jwk2.json":   {Data: []byte(`{"d":"b","kty":"OKP"}`)},
		"public.json": {Data: []byte(`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"a"}],"d":"e"}`)},
		"index.html":  {Data: []byte("PRIVATE KEY, -----BEGIN PUBLIC KEY-----")},
	}
	found, err := findSecrets(fsys)
	var names []string
	for _, d := range found {
		names = append(names, d.Where)
	}
	if want := []string{"a/rsa.txt", "a/ssh", "jwk.json", "jwk2.json", "key.pem"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%q %v", names, err)
	}

	f := mustInit(t, testProfile())
	k, err := os.ReadFile(f.keyFile(f.keys[0].public.ID))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.PublicDir(), "backup.pem"), k, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := f.Check(context.Background(), nil, namesOf(f.state.Profile.Addresses...), start)
	if err != nil || r.OK() || len(r.Defects) != 1 || r.Defects[0].Where != "backup.pem" {
		t.Errorf("%+v %v", r, err)
	}
}

// TestFolderWithoutHeaders serves the folder like a web host that does not support the file _headers.
func TestFolderWithoutHeaders(t *testing.T) {
	f := mustInit(t, testProfile())
	if err := os.Remove(filepath.Join(f.PublicDir(), headersName)); err != nil {
		t.Fatal(err)
	}
	r, err := f.Check(context.Background(), nil, nil, start)
	if err != nil || r.OK() {
		t.Errorf("%+v %v", r, err)
	}
	get := folderGet(os.DirFS(f.PublicDir()), "https://lab.university.edu")
	for at, want := range map[string]int{
		"https://lab.university.edu/crawl": 301, "https://lab.university.edu/crawl/": 200, "https://lab.university.edu/none": 404,
		"https://lab.university.edu/../../identity.json": 404, "https://lab.university.edu/%2e%2e/identity.json": 404, "https://lab.university.edu/": 404,
	} {
		if r, err := get(context.Background(), at); err != nil || r.Status != want {
			t.Errorf("%s: %+v %v", at, r, err)
		}
	}
	if _, err := get(context.Background(), "https://other.edu/"); err == nil {
		t.Error("another host was served")
	}
}
