package identity

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func mustInit(t testing.TB, p Profile) *Folder {
	t.Helper()
	f, err := Init(filepath.Join(t.TempDir(), "identity"), p, start)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func mustOpen(t testing.TB, f *Folder) *Folder {
	t.Helper()
	g, err := Open(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// wantClean fails the test if the folder has a defect when served.
func wantClean(t *testing.T, f *Folder, now time.Time) {
	t.Helper()
	r, err := f.Check(context.Background(), nil, namesOf(f.state.Profile.Addresses...), now)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range r.Defects {
		t.Errorf("%v at %v", d, now.Sub(start))
	}
}

func files(t testing.TB, dir string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, p)
			list = append(list, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestInit(t *testing.T) {
	f := mustInit(t, testProfile())
	id := f.keys[0].public.ID
	want := []string{
		"identity.json", "nginx.conf", "private/" + id + ".pem", "public/.well-known/http-message-signatures-directory", "public/_headers",
		"public/crawl/index.html", "public/crawl/ips.json", "public/crawl/retired-keys.json", "public/crawl/signature-agent-card.json",
	}
	if got := files(t, f.dir); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if runtime.GOOS != "windows" {
		for name, mode := range map[string]fs.FileMode{"private": 0o700, "private/" + id + ".pem": 0o600, "identity.json": 0o644, "public/crawl/index.html": 0o644} {
			if info, err := os.Stat(filepath.Join(f.dir, name)); err != nil || info.Mode().Perm() != mode {
				t.Errorf("%s: %v %v", name, info.Mode(), err)
			}
		}
	}
	wantClean(t, f, start)
	wantClean(t, mustOpen(t, f), start.Add(time.Hour))

	before, err := os.ReadFile(filepath.Join(f.dir, stateName))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Init(f.dir, testProfile(), start); !errors.Is(err, fs.ErrExist) {
		t.Errorf("an identity was overwritten: %v", err)
	}
	if after, _ := os.ReadFile(filepath.Join(f.dir, stateName)); string(after) != string(before) || len(files(t, f.dir)) != len(want) {
		t.Error("the identity changed")
	}
}

// No file outside private/ ever contains a private key.
func TestNothingSecretIsPublished(t *testing.T) {
	f := mustInit(t, testProfile())
	now := start
	for _, compromised := range []bool{false, true, false} {
		now = now.Add(rotationLead + time.Hour)
		if err := f.Rotate(now, compromised); err != nil {
			t.Fatal(err)
		}
	}
	if len(f.keys) != 4 {
		t.Fatalf("%d keys", len(f.keys))
	}
	for _, name := range files(t, f.dir) {
		if strings.HasPrefix(name, "private/") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(f.dir, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range f.keys {
			wantNoSecret(t, k.private, name, b)
		}
	}
	b, err := json.Marshal(f.Show(now))
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range f.keys {
		wantNoSecret(t, k.private, "the summary", append(b, f.Show(now).String()...))
	}
}

// Throughout a rotation, the signing key is in the directory, and has been for at least as long as verifiers cache the
// directory.
func TestRotation(t *testing.T) {
	f := mustInit(t, testProfile())
	first := f.keys[0].public.ID
	at := start.Add(30 * 24 * time.Hour)
	if err := f.Rotate(at, false); err != nil {
		t.Fatal(err)
	}
	second := f.keys[1].public.ID
	if err := f.Rotate(at.Add(time.Hour), false); err == nil || !strings.Contains(err.Error(), "takes over at 2026-12-23T12:00:00Z") {
		t.Errorf("a rotation within a rotation: %v", err)
	}
	f = mustOpen(t, f)
	listed := func() []string {
		b, err := os.ReadFile(f.publicFile(directoryPath))
		if err != nil {
			t.Fatal(err)
		}
		keys, err := ParseDirectory(b)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, k := range keys {
			ids = append(ids, k.ID)
		}
		return ids
	}
	end := rotationLead + rotationOverlap
	for _, c := range []struct {
		at     time.Duration
		signs  string
		listed []string // keys in the directory after publishing
		status []KeyStatus
	}{
		{0, first, []string{first, second}, []KeyStatus{statusSigns, statusWaits}},
		{rotationLead - time.Second, first, []string{first, second}, []KeyStatus{statusSigns, statusWaits}},
		{rotationLead, second, []string{first, second}, []KeyStatus{statusEnds, statusSigns}},
		{end - time.Second, second, []string{first, second}, []KeyStatus{statusEnds, statusSigns}},
		{end, second, []string{second}, []KeyStatus{statusRetired, statusSigns}},
	} {
		now := at.Add(c.at)
		if err := f.Publish(f.Profile(), now); err != nil {
			t.Fatal(err)
		}
		k, err := f.Key(now)
		if err != nil || k.ID() != c.signs {
			t.Errorf("%v: signs %v %v", c.at, k, err)
		}
		if got := listed(); !slices.Equal(got, c.listed) {
			t.Errorf("%v: %q", c.at, got)
		}
		for i, s := range f.Show(now).Keys {
			if s.Status != c.status[i] {
				t.Errorf("%v: key %d %s", c.at, i, s.Status)
			}
		}
		wantClean(t, f, now)
	}
	// Signatures of the old key can still be verified after its file is gone.
	if err := os.Remove(f.keyFile(first)); err != nil {
		t.Fatal(err)
	}
	f = mustOpen(t, f)
	if _, ok := f.PublicKey(first); !ok {
		t.Error("the retired key is not known any more")
	}
	b, err := os.ReadFile(f.publicFile(f.state.Profile.beside(retiredName)))
	if keys, perr := ParseDirectory(b); err != nil || perr != nil || len(keys) != 1 || keys[0].ID != first {
		t.Errorf("%s %v %v", b, err, perr)
	}
	if err := f.Rotate(at.Add(end+time.Hour), false); err != nil {
		t.Error(err)
	}
}

func TestRotationOfACompromisedKey(t *testing.T) {
	f := mustInit(t, testProfile())
	first := f.keys[0].public.ID
	if err := f.Rotate(start.Add(time.Hour), false); err != nil {
		t.Fatal(err)
	}
	second := f.keys[1].public.ID
	now := start.Add(2 * time.Hour)
	if err := f.Rotate(now, true); err != nil {
		t.Fatal(err)
	}
	f = mustOpen(t, f)
	k, err := f.Key(now)
	if err != nil || k.ID() != f.keys[2].public.ID {
		t.Errorf("%v %v", k, err)
	}
	for _, id := range []string{first, second} {
		if _, ok := f.PublicKey(id); ok {
			t.Error("a compromised key is trusted")
		}
		for _, name := range files(t, f.PublicDir()) {
			if b, _ := os.ReadFile(filepath.Join(f.PublicDir(), filepath.FromSlash(name))); strings.Contains(string(b), id) {
				t.Errorf("%s names a compromised key", name)
			}
		}
	}
	wantClean(t, f, now)
}

func TestRotationsAreBounded(t *testing.T) {
	f := mustInit(t, testProfile())
	now := start
	n := 0
	for range 10 {
		now = now.Add(rotationLead)
		if err := f.Rotate(now, false); err != nil {
			if !strings.Contains(err.Error(), "wait until the oldest has expired") {
				t.Fatal(err)
			}
			break
		}
		n++
		wantClean(t, f, now)
	}
	if n != maxListed-1 {
		t.Errorf("%d rotations", n)
	}
}

// The page may move. Only its old file is removed.
func TestPublishElsewhere(t *testing.T) {
	f := mustInit(t, testProfile())
	mine := filepath.Join(f.PublicDir(), "crawl", "logo.png")
	if err := os.WriteFile(mine, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		page string
		want []string
	}{
		{"https://lab.university.edu/bot.html", []string{".well-known/http-message-signatures-directory", "_headers", "bot.html", "crawl/logo.png", "ips.json", "retired-keys.json", "signature-agent-card.json"}},
		{"https://lab.university.edu/", []string{".well-known/http-message-signatures-directory", "_headers", "crawl/logo.png", "index.html", "ips.json", "retired-keys.json", "signature-agent-card.json"}},
		{"https://lab.university.edu", []string{".well-known/http-message-signatures-directory", "_headers", "crawl/logo.png", "index.html", "ips.json", "retired-keys.json", "signature-agent-card.json"}},
		{"https://lab.university.edu:8443/a/b.c/", []string{".well-known/http-message-signatures-directory", "_headers", "a/b.c/index.html", "a/b.c/ips.json", "a/b.c/retired-keys.json", "a/b.c/signature-agent-card.json", "crawl/logo.png"}},
		{"https://lab.university.edu/crawl", []string{".well-known/http-message-signatures-directory", "_headers", "crawl/index.html", "crawl/ips.json", "crawl/logo.png", "crawl/retired-keys.json", "crawl/signature-agent-card.json"}},
	} {
		p := testProfile()
		p.Page = c.page
		if err := f.Publish(p, start); err != nil {
			t.Fatal(err)
		}
		if got := files(t, f.PublicDir()); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", c.page, got)
		}
		wantClean(t, f, start)
	}
}

func TestOpenRefuses(t *testing.T) {
	f := mustInit(t, testProfile())
	state := filepath.Join(f.dir, stateName)
	good, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ old, new, want string }{
		"another form":  {folderSchema, "amble.identity/2", "this version reads"},
		"a damaged key": {`"x": "`, `"x": "A`, "is damaged"},
		"another name":  {`"id": "` + f.keys[0].public.ID[:4], `"id": "AAAA`, "is damaged"},
		"no JSON":       {`{`, `(`, stateName},
		"a delay":       {`"1.5s"`, `"soon"`, "delay"},
	} {
		text := strings.Replace(string(good), c.old, c.new, 1)
		if text == string(good) {
			t.Fatalf("%s: nothing changed", name)
		}
		if err := os.WriteFile(state, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(f.dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.WriteFile(state, good, 0o644); err != nil {
		t.Fatal(err)
	}
	key := f.keyFile(f.keys[0].public.ID)
	if runtime.GOOS != "windows" {
		if err := os.Chmod(key, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(f.dir); !errors.Is(err, errKeyExposed) {
			t.Error(err)
		}
	}
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if err := mustKey(t).Write(key); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(f.dir); err == nil || !strings.Contains(err.Error(), "holds key") {
		t.Error(err)
	}
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	g := mustOpen(t, f)
	if err := g.Publish(g.Profile(), start); err == nil || !strings.Contains(err.Error(), "is missing") {
		t.Errorf("a directory without its key was published: %v", err)
	}
	if _, err := g.Key(start); !errors.Is(err, errNoKey) {
		t.Error(err)
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestProfileValidate(t *testing.T) {
	good := testProfile()
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*Profile)
		want   string
	}{
		"no product":          {func(p *Profile) { p.Product = "" }, "product"},
		"product with blanks": {func(p *Profile) { p.Product = "lab bot" }, "letters, digits"},
		"another agent":       {func(p *Profile) { p.UserAgent = "Mozilla/5.0" }, "does not hold the product"},
		"no operator":         {func(p *Profile) { p.Operator = " " }, "operator is empty"},
		"no purpose":          {func(p *Profile) { p.Purpose = "" }, "purpose is empty"},
		"no why":              {func(p *Profile) { p.Why = "" }, "why is empty"},
		"nothing kept":        {func(p *Profile) { p.Kept = "" }, "kept is empty"},
		"a long text":         {func(p *Profile) { p.Why = strings.Repeat("x", maxText+1) }, "longer than"},
		"a negative delay":    {func(p *Profile) { p.Delay = -1 }, "negative"},
		"no page":             {func(p *Profile) { p.Page = "" }, "page is empty"},
		"a page over http":    {func(p *Profile) { p.Page = "http://lab.university.edu/" }, "https"},
		"a relative page":     {func(p *Profile) { p.Page = "/crawl" }, "not an absolute URL"},
		"a query":             {func(p *Profile) { p.Page += "?a" }, "query"},
		"an empty query":      {func(p *Profile) { p.Page += "?" }, "query"},
		"a fragment":          {func(p *Profile) { p.Page += "#a" }, "fragment"},
		"a password":          {func(p *Profile) { p.Page = "https://u:hunter2@lab.university.edu/" }, "user information"},
		"dots":                {func(p *Profile) { p.Page = "https://lab.university.edu/a/../b" }, "path"},
		"a hidden file":       {func(p *Profile) { p.Page = "https://lab.university.edu/.well-known" }, "path"},
		"empty segments":      {func(p *Profile) { p.Page = "https://lab.university.edu//a" }, "path"},
		"escapes":             {func(p *Profile) { p.Page = "https://lab.university.edu/%61" }, "path"},
		"a quote in the path": {func(p *Profile) { p.Page = "https://lab.university.edu/a'b" }, "path"},
		"a quote in the host": {func(p *Profile) { p.Page = "https://lab'$x;.edu/" }, "host"},
		"an upper-case host":  {func(p *Profile) { p.Page = "https://Lab.edu/" }, "lower case"},
		"an umlaut":           {func(p *Profile) { p.Page = "https://l\u00e4b.edu/" }, "punycode"},
		"nobody":              {func(p *Profile) { p.Contacts = nil }, "contacts is empty"},
		"a contact":           {func(p *Profile) { p.Contacts = []string{"ask around"} }, "contact"},
		"a script":            {func(p *Profile) { p.Contacts = []string{"javascript:alert(1)"} }, "neither"},
		"a mail with options": {func(p *Profile) { p.Contacts = []string{"a@lab.edu?bcc=b@lab.edu"} }, "neither"},
		"address bits":        {func(p *Profile) { p.Addresses = []netip.Prefix{netip.MustParsePrefix("198.51.100.17/30")} }, "bits behind"},
		"IPv4 in IPv6":        {func(p *Profile) { p.Addresses = []netip.Prefix{netip.MustParsePrefix("::ffff:198.51.100.0/120")} }, "IPv4 written"},
		"no address":          {func(p *Profile) { p.Addresses = make([]netip.Prefix, 1) }, "bits behind"},
		"many addresses":      {func(p *Profile) { p.Addresses = make([]netip.Prefix, maxPrefixes+1) }, "at most"},
		"an agent over http":  {func(p *Profile) { p.SignatureAgent = "http://lab.university.edu" }, "https"},
	} {
		p := testProfile()
		c.change(&p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Init(filepath.Join(t.TempDir(), "x"), p, start); err == nil {
			t.Errorf("%s: published", name)
		}
	}
	var empty Profile
	if err := empty.Validate(); err == nil || strings.Count(err.Error(), "\n") < 6 {
		t.Errorf("not everything is reported at once: %v", err)
	}
}

func TestProfileJSON(t *testing.T) {
	p := testProfile()
	p.Sign, p.SignatureAgent, p.Exceptions, p.Hours, p.Rendered = Always, "https://lab.university.edu", "x", "22:00-06:00 UTC", true
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var got Profile
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(got)
	if err != nil || string(again) != string(b) || got.Delay != p.Delay || got.MaxCrawlDelay != p.MaxCrawlDelay || got.Sign != Always {
		t.Errorf("%s\n%s %v", b, again, err)
	}
}

func TestWords(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Second: "1 second", 1500 * time.Millisecond: "1.5 seconds", 100 * time.Millisecond: "0.1 seconds", 90 * time.Second: "90 seconds",
		5 * time.Minute: "5 minutes", 150 * time.Second: "2.5 minutes", time.Hour: "1 hour", 36 * time.Hour: "36 hours", 100 * time.Second: "100 seconds",
	} {
		if got := words(d); got != want {
			t.Errorf("%v: %s", d, got)
		}
	}
}
