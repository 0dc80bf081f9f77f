package job

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/render"
)

// A job directory of another user or machine is resumed only after the user was told which variables, files and programs are named in its
// settings.
func TestResumeOfForeignJobNamesFilesAndVariables(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	secret := filepath.Join(t.TempDir(), "secret")
	overwrite(t, secret, []byte("b"))
	t.Setenv("AMBLE_TEST_SECRET", "a")
	dir := filepath.Join(t.TempDir(), "job")
	var c Config
	c.Crawl.Politeness.Delay = crawler.NoDelay
	c.Header = []string{"X-One: env:AMBLE_TEST_SECRET", "X-Two: @" + secret}
	j, err := Create(dir, c, srv.URL+"/")
	if err = errors.Join(err, j.Close()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, manifestName)
	m := must(readManifest(dir))
	if m.Maker == nil || *m.Maker != *thisMaker() || len(m.Maker.Machine) != 64 {
		t.Fatalf("the maker of the job is %+v", m.Maker)
	}
	ours := string(must(os.ReadFile(path)))
	for name, foreign := range map[string]string{
		"user":    strings.Replace(ours, `"user": "`+m.Maker.User, `"user": "x`, 1),
		"machine": strings.Replace(ours, m.Maker.Machine, strings.Repeat("0", 64), 1),
	} {
		overwrite(t, path, []byte(foreign))
		var refusal *Error
		_, err := Open(dir)
		if !errors.As(err, &refusal) || refusal.Kind != Refused || !strings.Contains(err.Error(), "variable AMBLE_TEST_SECRET") || !strings.Contains(err.Error(), secret) {
			t.Errorf("another %s: %v", name, err)
		}
		if _, err := Revisit(dir, nil, nil); err == nil {
			t.Errorf("another %s: revisited", name)
		}
		rendering := Config{Browser: Browser{Path: "/tmp/program"}}
		rendering.Crawl.Render.Mode = render.Always
		if err := CheckMaker(dir, &rendering); err == nil || !strings.Contains(err.Error(), "/tmp/program") {
			t.Errorf("another %s: browser: %v", name, err)
		}
		if err := CheckMaker(dir, &Config{Store: "s3://crawls/x"}); err == nil || !strings.Contains(err.Error(), "the store s3://crawls/x (store)") {
			t.Errorf("another %s: store: %v", name, err)
		}
		if err := CheckMaker(dir, &Config{}); err != nil {
			t.Errorf("another %s: settings that name nothing: %v", name, err)
		}
	}
	m.Maker = nil // as in manifests of earlier versions
	d := must(openDir(dir))
	defer d.close()
	if err := errors.Join(m.write(d), CheckMaker(dir, &c)); err != nil {
		t.Errorf("a job without its maker: %v", err)
	}
	j, err = Open(dir)
	if err = errors.Join(err, j.Close()); err != nil {
		t.Fatal(err)
	}
	if m := must(readManifest(dir)); m.Maker == nil {
		t.Error("a resumed job has no maker")
	}
}
