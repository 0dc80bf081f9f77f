package work

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/mem"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/weburl"
)

// A node may read only variables and files that its operator has allowed: otherwise it refuses the job early, and its status says why.
func TestNodeReadsOnlyAllowedFilesAndVariables(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("AMBLE_TEST_SECRET", "s3cret")
	secret, own, optOut, since := file("secret", "s3cret\n"), file("own", "a.test\n"), file("optout", "b.test\n"), file("visits.jsonl", "")
	all := Allowed{Env: []string{"AMBLE_TEST_SECRET"}, Files: []string{secret, own, filepath.Join(dir, "x", "..", "optout"), since}}
	for name, c := range map[string]struct {
		settings job.Settings
		hosts    bool
		want     string // text of the refusal
	}{
		"variable": {job.Settings{{Name: "header", Values: []string{"X-A: env:AMBLE_TEST_SECRET"}}}, false, "the environment variable AMBLE_TEST_SECRET (header X-A)"},
		"file":     {job.Settings{{Name: "header", Values: []string{"X-A: @" + secret}}}, false, "the file " + secret + " (header X-A)"},
		"own":      {job.Settings{{Name: "own-hosts", Values: []string{own}}}, false, "the file " + own + " (own-hosts)"},
		"optout":   {job.Settings{{Name: "opt-out", Values: []string{optOut}}}, false, "the file " + optOut + " (opt-out)"},
		"since":    {job.Settings{{Name: "since", Values: []string{since}}}, false, "the file " + since + " (since)"},
		"hosts":    {nil, true, "the environment variable AMBLE_TEST_SECRET (header X-A)"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := append(job.Settings{{Name: "contact", Values: []string{contact}}}, c.settings...).Config()
			if err != nil {
				t.Fatal(err)
			}
			if c.hosts {
				cfg.Crawl.Hosts = []crawler.HostSettings{{Match: "a.test", Header: map[string][]string{"X-A": {"env:AMBLE_TEST_SECRET"}}}}
			}
			seed, err := weburl.Parse("http://a.test/")
			if err != nil {
				t.Fatal(err)
			}
			e := mem.New().Connect()
			if err := Create(t.Context(), e, &Spec{Config: cfg, Seeds: []weburl.URL{seed}, Shards: 2}); err != nil {
				t.Fatal(err)
			}
			n := &Node{Engine: e, Name: "n1", JobName: "shop", Dir: filepath.Join(t.TempDir(), "n1"), Trace: func(x cluster.Event) { t.Errorf("%+v", x) }}
			err = n.Run(t.Context())
			if !errors.Is(err, ErrNotAllowed) || !strings.Contains(err.Error(), "job shop") || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%v\nwant: %s", err, c.want)
			}
			s, err := cluster.ReadStatus(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			if got := Summarize(&s, time.Now()).Text("shop"); !strings.Contains(got, "node n1 refuses the job: ") || !strings.Contains(got, c.want) {
				t.Errorf("the status: %s", got)
			}
			if err := all.check("shop", &cfg); err != nil {
				t.Errorf("allowed: %v", err)
			}
		})
	}
}

// If an attacker can write to the job's register, nodes still read no file that an override of robots.txt names. The amble command stores
// the text of overrides in the job, not the names of files.
func TestNodeReadsNoFileOfOverride(t *testing.T) {
	e := mem.New().Connect()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("User-agent: *\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := "urls: [http://a.test/]\ncontact: " + contact + "\noverrides:\n  - {origin: http://a.test, reason: none, file: " + secret + "}\n"
	b, err := json.Marshal(settings{Schema: settingsSchema, Created: time.Now(), File: text})
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Create(t.Context(), e, cluster.Job{Shards: 2, Settings: b}); err != nil {
		t.Fatal(err)
	}
	n := &Node{Engine: e, Name: "n1", Dir: filepath.Join(t.TempDir(), "n1")}
	if err := n.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "a file is not possible here") {
		t.Error(err)
	}
}
