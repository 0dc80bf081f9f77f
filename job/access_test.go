package job

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/weburl"
)

func seedURLs(t *testing.T, texts ...string) []weburl.URL {
	t.Helper()
	urls, err := parse(texts)
	if err != nil {
		t.Fatal(err)
	}
	return urls
}

// TestHeaderFields checks to which origins a header field is sent, and from where its value is read.
func TestHeaderFields(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	write(t, file, "\n from a file \n\n")
	t.Setenv("JOB_TEST_TOKEN", " from the environment ")
	c := Config{Header: []string{
		"X-Plain: a: b", "x-file: @" + file, "https://C.test:443/ X-Env:env:JOB_TEST_TOKEN", "http://a.test X-Plain: for a alone",
		"X-Twice: 1", "X-Twice: 2",
	}}
	x := crawler.Config{Fetch: fetcher.Config{Headers: fetcher.Headers{"https://c.test": {"X-Program": {"p"}}, "http://b.test:8080": {"X-Plain": {"p"}}}}}
	before := x.Fetch.Headers["http://b.test:8080"].Clone()
	was := x.Fetch.Headers
	if err := c.Access(&x, seedURLs(t, "http://a.test/1", "http://a.test/2", "http://b.test:8080/")...); err != nil {
		t.Fatal(err)
	}
	want := fetcher.Headers{
		"http://a.test":      {"X-Plain": {"for a alone"}, "X-File": {"from a file"}, "X-Twice": {"1", "2"}},
		"http://b.test:8080": {"X-Plain": {"a: b"}, "X-File": {"from a file"}, "X-Twice": {"1", "2"}},
		"https://c.test":     {"X-Env": {"from the environment"}, "X-Program": {"p"}},
	}
	if !reflect.DeepEqual(x.Fetch.Headers, want) {
		t.Errorf("%v", x.Fetch.Headers)
	}
	if !reflect.DeepEqual(was["http://b.test:8080"], before) {
		t.Error("the program's own table was changed")
	}
}

// Header fields of single hosts take their values from the same places as those of Header, and a job records these places.
func TestHeaderFieldsOfHosts(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, "token", "from a file\n")
	t.Setenv("JOB_TEST_TOKEN", "from the environment")
	var c Config
	text := `[{"match":"a.test","headers":{"X-Env":"env:JOB_TEST_TOKEN","X-File":["@token","plain"]}},{"match":"b.test","headers":{"X-Plain":"s3cret"}}]`
	var err error
	if c.Crawl.Hosts, err = readHosts([]string{text}); err != nil {
		t.Fatal(err)
	}
	if err := c.absolute(); err != nil {
		t.Fatal(err)
	}
	kept, _ := c.recordable().Get(keyHosts)
	want := `[{"match":"a.test","headers":{"X-Env":["env:JOB_TEST_TOKEN"],"X-File":["@` + filepath.Join(dir, "token") + `","***"]}},{"match":"b.test","headers":{"X-Plain":["***"]}}]`
	if kept.Text() != want {
		t.Errorf("kept: %s", kept.Text())
	}
	x := crawler.Config{Hosts: c.Crawl.Hosts}
	if err := c.Access(&x); err != nil {
		t.Fatal(err)
	}
	if h := x.Hosts[0].Header; h.Get("X-Env") != "from the environment" || !slices.Equal(h["X-File"], []string{"from a file", "plain"}) || x.Hosts[1].Header.Get("X-Plain") != "s3cret" {
		t.Errorf("sent: %v", h)
	}
	if h := c.Crawl.Hosts[0].Header; h.Get("X-Env") != "env:JOB_TEST_TOKEN" {
		t.Errorf("the program's entry was changed: %v", h)
	}
	t.Setenv("JOB_TEST_TOKEN", "")
	x.Hosts = c.Crawl.Hosts
	var key *KeyError
	if err := c.Access(&x); !errors.As(err, &key) || key.Key != keyHosts || !strings.Contains(err.Error(), `entry 1 (a.test): headers: "X-Env": the environment has no JOB_TEST_TOKEN`) {
		t.Error(err)
	}
}

// TestHeaderFieldsThatAreRefused checks that the error for a bad header field names the key and the field, but contains no value.
func TestHeaderFieldsThatAreRefused(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "two"), "s3cret\ns3cret\n")
	write(t, filepath.Join(dir, "empty"), "\n")
	write(t, filepath.Join(dir, "big"), strings.Repeat("s3cret", maxSecret))
	write(t, filepath.Join(dir, "control"), "s3cret\x00")
	t.Setenv("JOB_TEST_CONTROL", "s3\ncret")
	for text, want := range map[string]string{
		"Authorization":                           `"Authorization": want 'Name: value'`,
		"s3cret-free text":                        `want 'Name: value'`,
		"Authorization:":                          `"Authorization": it has no value`,
		": s3cret":                                "not a valid field name",
		"Host: s3cret":                            `"Host": Host is reserved`,
		"X-A: s3cret\r\nX-B: c":                   "control characters",
		"https://a.test/x X-A: s3cret":            `"https://a.test/x": want the origin`,
		"https://u:s3cret@a.test X-A: b":          `"https://***@a.test": want the origin`,
		"ftp://a.test X-A: s3cret":                "want 'Name: value'",
		"X-A: @" + filepath.Join(dir, "none"):     `"X-A": open `,
		"X-A: @" + filepath.Join(dir, "two"):      "want one line",
		"X-A: @" + filepath.Join(dir, "empty"):    "want one line",
		"X-A: @" + filepath.Join(dir, "big"):      "want one line",
		"X-A: @" + filepath.Join(dir, "control"):  "control characters",
		"X-A: env:JOB_TEST_NONE":                  `"X-A": the environment has no JOB_TEST_NONE`,
		"X-A: env:JOB_TEST_CONTROL":               "control characters",
		"X-A: ***":                                `"X-A": a job does not keep its value: give it again, as 'X-A: …'`,
		"https://a.test X-A: ***":                 `as 'https://a.test X-A: …'`,
		"https://a.test Authorization: @/x/s3y/z": "no such file",
	} {
		c := Config{Header: []string{text}}
		err := c.Access(new(crawler.Config), seedURLs(t, "http://a.test/")...)
		var key *KeyError
		if !errors.As(err, &key) || key.Key != "header" || !strings.Contains(err.Error(), want) || strings.Contains(strings.ReplaceAll(err.Error(), "s3cret-free", ""), "s3cret") {
			t.Errorf("%q: %v", text, err)
		}
		if strings.Contains(strings.Join(keptFields(c.Header), ""), "s3cret") {
			t.Errorf("%q: kept as %q", text, keptFields(c.Header))
		}
	}
}

// TestJobStoresHeaderNamesWithoutValues checks that job.yaml and the manifest contain the names of header fields but no values, and that
// the job is resumed if the values can be read again; otherwise the error names the fields whose values are needed.
func TestJobStoresHeaderNamesWithoutValues(t *testing.T) {
	got := make(chan http.Header, 100)
	srv := numbered(t, func(_ http.ResponseWriter, r *http.Request) { got <- r.Header.Clone() })
	file := filepath.Join(t.TempDir(), "token")
	write(t, file, "s3cretfile")
	t.Setenv("JOB_TEST_TOKEN", "s3cretenv")
	dir := filepath.Join(t.TempDir(), "job")
	c := Config{Header: []string{"X-Env: env:JOB_TEST_TOKEN", "X-File: @" + file, srv + " Authorization: s3cretgiven"}}
	c.Crawl.Politeness.Delay, c.Crawl.Limits.Pages, c.Crawl.Fetch.AcceptLanguage = crawler.NoDelay, 1, "de, en;q=0.8"
	c.Archive = true
	endJob(t, must(Create(dir, c, srv+"/")))
	if h := <-got; h.Get("X-Env") != "s3cretenv" || h.Get("X-File") != "s3cretfile" || h.Get("Authorization") != "s3cretgiven" || h.Get("Accept-Language") != "de, en;q=0.8" {
		t.Errorf("%v", h)
	}
	noSecrets(t, dir, "s3cret")
	_, err := Open(dir)
	if err == nil || !strings.Contains(err.Error(), srv+" Authorization: …") || strings.Contains(err.Error(), "X-Env") {
		t.Errorf("resumed without a value: %v", err)
	}
	r := must(Read(dir))
	kept, err := r.Config()
	if want := []string{"X-Env: env:JOB_TEST_TOKEN", "X-File: @" + file, srv + " Authorization: ***"}; err != nil || !slices.Equal(kept.Header, want) {
		t.Errorf("kept %q, %v", kept.Header, err)
	}
	_ = r.Close()
	kept.Header[2], kept.Crawl.Limits.Pages = srv+" Authorization: s3cretagain", 2
	endJob(t, must(Resume(dir, kept, []string{srv + "/"})))
	for range 2 { // a request in flight when the limit was reached may be repeated
		if h := <-got; h.Get("Authorization") == "s3cretagain" && h.Get("X-Env") == "s3cretenv" {
			break
		}
	}
	noSecrets(t, dir, "s3cret")
}

// TestLanguages checks the form of the header field Accept-Language.
func TestLanguages(t *testing.T) {
	for text, ok := range map[string]bool{
		"": true, "de": true, "de-CH, fr;q=0.8 , *;q=0": true, "en;q=1.000": true, "zh-Hant-TW": true,
		"de;q=2": false, "de en": false, "de,": false, "d\ne": false, "toolonglanguage": false, "de;q=0.1234": false,
	} {
		if _, err := readLanguages([]string{text}); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
