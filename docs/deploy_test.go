package docs_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// yamlFile decodes a YAML file of the project.
func yamlFile[T any](t *testing.T, name string) (v T) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(b, &v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

// compose holds the checked fields of a compose file.
type compose struct {
	Services map[string]service `yaml:"services"`
	Secrets  map[string]any     `yaml:"secrets"`
	Volumes  map[string]any     `yaml:"volumes"`
}

type service struct {
	Image, Command string
	Volumes        []string `yaml:"volumes"`
	Secrets        []string `yaml:"secrets"`

	Restart  string
	Profiles []string
	ReadOnly bool                    `yaml:"read_only"`
	Memory   string                  `yaml:"mem_limit"`
	CPUs     string                  `yaml:"cpus"`
	PIDs     int                     `yaml:"pids_limit"`
	Health   struct{ Test []string } `yaml:"healthcheck"`
}

// TestInstall runs the commands that the document gives for the archive of a release, as a user with an empty home. The tests of
// tools/release check the archive's content.
func TestInstall(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the document shows a shell's commands")
	}
	text := recipes(documents(t), "docs/deploy.md", "sh")["tar xzf amble-*-linux-amd64.tar.gz"]
	home, dir := t.TempDir(), t.TempDir()
	in := filepath.Join(dir, "amble-0.0.1-linux-amd64")
	if err := os.MkdirAll(filepath.Join(in, "completions"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(in, "completions", "amble.bash"), "complete\n")
	write(t, filepath.Join(in, "amble"), "#!/bin/sh\ntest \"$1\" = --version && echo installed\n")
	if err := os.Chmod(filepath.Join(in, "amble"), 0o755); err != nil {
		t.Fatal(err)
	}
	env := []string{"HOME=" + home, "PATH=" + filepath.Join(home, ".local", "bin") + string(os.PathListSeparator) + os.Getenv("PATH")}
	runWith(t, env, dir, "sh", "-e", "-c", "tar czf amble-0.0.1-linux-amd64.tar.gz amble-0.0.1-linux-amd64 && rm -r amble-0.0.1-linux-amd64")
	if out := runWith(t, env, dir, "sh", "-e", "-c", text); out != "installed\n" {
		t.Errorf("%q, want the installed command's output", out)
	}
	if _, err := os.Stat(filepath.Join(home, ".local", "share", "bash-completion", "completions", "amble")); err != nil {
		t.Error(err)
	}
}

// TestComposeFiles checks that the command has the commands and flags of compose files, and that the files, volumes and secrets that
// services use exist.
func TestComposeFiles(t *testing.T) {
	amble := program(t, "cmd/amble")
	for name, most := range map[string]int{"deploy/compose.yaml": 1, "deploy/cluster.yaml": 7} {
		c, ours := yamlFile[compose](t, name), 0
		for _, key := range slices.Sorted(maps.Keys(c.Services)) {
			s := c.Services[key]
			if s.Image == "amble" {
				ours++
				commandLine{at: name + ", " + key, program: "cmd/amble", args: strings.Fields(s.Command)}.check(t, amble, map[string]help{})
				if len(s.Health.Test) > 2 {
					commandLine{at: name + ", " + key, program: "cmd/amble", args: s.Health.Test[2:]}.check(t, amble, map[string]help{})
				}
				if !s.ReadOnly {
					t.Errorf("%s, %s: its root can be written to", name, key)
				}
			}
			// The state of a single crawl can only be read from its page, and the image has no program that could do so.
			once := slices.Contains(s.Profiles, "create")
			if s.CPUs == "" || s.PIDs == 0 || !once && (s.Memory == "" || s.Restart == "" || key != "amble" && len(s.Health.Test) == 0) {
				t.Errorf("%s, %s: a limit, the restart policy or the health check is missing: %+v", name, key, s)
			}
			for _, secret := range s.Secrets {
				if c.Secrets[secret] == nil {
					t.Errorf("%s, %s: no secret %s", name, key, secret)
				}
			}
			for _, v := range s.Volumes {
				c.checkVolume(t, name, key, v)
			}
		}
		if ours != most {
			t.Errorf("%s has %d services of amble, want %d", name, ours, most)
		}
	}
}

func (c compose) checkVolume(t *testing.T, name, key, volume string) {
	t.Helper()
	from, _, _ := strings.Cut(volume, ":")
	if !strings.HasPrefix(from, ".") {
		if _, ok := c.Volumes[from]; !ok {
			t.Errorf("%s, %s: no volume %s", name, key, from)
		}
		return
	}
	if _, err := os.Stat(filepath.Join(root, filepath.Dir(name), from)); err != nil {
		t.Errorf("%s, %s: %v", name, key, err)
	}
}

// container has the fields of a Kubernetes container that the test reads.
type container struct {
	Name      string
	Args      []string
	Env       []struct{ Name, Value string }
	Ports     []port
	Liveness  probe `yaml:"livenessProbe"`
	Readiness probe `yaml:"readinessProbe"`
}

type port struct {
	Name   string
	Number int `yaml:"containerPort"`
}

type probe struct {
	Get struct{ Path, Port string } `yaml:"httpGet"`
}

// containers returns the containers in a file that Helm has rendered.
func containers(t *testing.T, name string) map[string]container {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]container{}
	for _, doc := range strings.Split(string(b), "\n---\n") {
		var object struct {
			Spec struct {
				Template struct {
					Spec struct{ Containers []container }
				}
			}
		}
		if err := yaml.Unmarshal([]byte(doc), &object); err != nil {
			t.Fatal(err)
		}
		for _, c := range object.Spec.Template.Spec.Containers {
			found[c.Name] = c
		}
	}
	return found
}

// TestChart checks that the command has the flags that the Helm chart gives it. Then it runs a server and a node like the chart, on
// loopback, and makes the requests of Kubernetes and Prometheus to both.
func TestChart(t *testing.T) {
	t.Parallel()
	amble := program(t, "cmd/amble")
	work, collect := containers(t, "tools/chart/testdata/work.yaml"), containers(t, "tools/chart/testdata/collect.yaml")
	for at, c := range map[string]container{"work.yaml": work["engine"], "work.yaml, node": work["node"], "collect.yaml": collect["collect"]} {
		if len(c.Args) == 0 {
			t.Fatalf("%s has no arguments", at)
		}
		commandLine{at: at, program: "cmd/amble", args: c.Args}.check(t, amble, map[string]help{})
	}
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has all addresses of 127.0.0.0/8")
	}
	dir, host := t.TempDir(), fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), 1+rand.IntN(254), 1+rand.IntN(254))
	token := strings.Repeat("a1", 20)
	for _, name := range []string{"token", "page-token"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	here := strings.NewReplacer("/etc/amble", dir, "/engine/", dir+"/engine/", "/crawls/", dir+"/crawls/", "0.0.0.0", host, "shops-engine-0.shops-engine", host)
	// This is the only server: three would have the same address here.
	for _, c := range []container{collect["engine"], work["node"]} {
		var args, env []string
		for _, a := range c.Args {
			args = append(args, here.Replace(a))
		}
		for _, e := range c.Env {
			value, _, _ := strings.Cut(here.Replace(e.Value), ",") // one of three servers
			env = append(env, e.Name+"="+value)
		}
		ask(t, c, servingWith(t, env, `http://127[0-9.:]+/`, args...), token)
		if c.Name == "engine" {
			cmd := exec.CommandContext(t.Context(), amble, "crawl", "--job", "shops", "--replicas", "1", "--shards", "4", small(t))
			cmd.Env = append(os.Environ(), env...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
	}
}

// ask makes the requests of Kubernetes and Prometheus to a container, at the address of its page.
func ask(t *testing.T, c container, address, token string) {
	t.Helper()
	for path, want := range map[string][]int{c.Liveness.Get.Path: {200}, c.Readiness.Get.Path: {200, 503}, "/metrics": {200}} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(address, "/")+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if path == "/metrics" { // like PodMonitor
			r.Header.Set("Authorization", "Bearer "+token)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if !slices.Contains(want, res.StatusCode) {
			t.Errorf("%s answers %s with %s", c.Name, path, res.Status)
		}
	}
	i := slices.IndexFunc(c.Ports, func(p port) bool { return p.Name == c.Liveness.Get.Port && p.Name == c.Readiness.Get.Port })
	if i < 0 || !strings.HasSuffix(address, fmt.Sprintf(":%d/", c.Ports[i].Number)) {
		t.Errorf("%s serves at %s, and its probes ask %v", c.Name, address, c.Ports)
	}
}

// TestUnits checks that the units of systemd give the command flags that it has, and, if systemd-analyze is installed, that the units are
// hardened.
func TestUnits(t *testing.T) {
	amble := program(t, "cmd/amble")
	units, err := filepath.Glob(filepath.Join(root, "deploy", "systemd", "*.service"))
	if err != nil || len(units) != 2 {
		t.Fatalf("%d units, %v", len(units), err)
	}
	for _, unit := range units {
		b, err := os.ReadFile(unit)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(b), "\\\n", " ")
		_, command, _ := strings.Cut(text, "\nExecStart=/usr/local/bin/amble ")
		command, _, _ = strings.Cut(command, "\n")
		commandLine{at: unit, program: "cmd/amble", args: strings.Fields(command)}.check(t, amble, map[string]help{})
		if _, err := exec.LookPath("systemd-analyze"); err != nil {
			t.Log("no systemd-analyze")
			continue
		}
		out, err := exec.CommandContext(t.Context(), "systemd-analyze", "security", "--offline=true", "--threshold=30", unit).CombinedOutput()
		if err != nil {
			t.Errorf("%s is exposed by more than 3.0: %v\n%s", unit, err, out)
		}
	}
}

// TestMonitoringFiles checks that the files of Prometheus and Grafana are YAML, and use the names of the compose file.
func TestMonitoringFiles(t *testing.T) {
	c := yamlFile[compose](t, "deploy/compose.yaml")
	_, port, _ := strings.Cut(c.Services["amble"].Command, "--listen amble:")
	port, _, _ = strings.Cut(port, " ")
	p := yamlFile[struct {
		Rules  []string `yaml:"rule_files"`
		Scrape []struct {
			Static []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}](t, "deploy/prometheus.yml")
	if port == "" || len(p.Scrape) != 1 || p.Scrape[0].Static[0].Targets[0] != "amble:"+port {
		t.Errorf("the target of Prometheus is not amble:%s: %v", port, p)
	}
	mounts := strings.Join(append(c.Services["prometheus"].Volumes, c.Services["grafana"].Volumes...), "\n")
	boards := yamlFile[struct {
		Providers []struct{ Options struct{ Path string } }
	}](t, "deploy/grafana/dashboards.yaml")
	for _, file := range append(p.Rules, boards.Providers[0].Options.Path+"/amble.json") {
		if !strings.Contains(mounts, ":"+file+":ro") {
			t.Errorf("%s is not mounted:\n%s", file, mounts)
		}
	}
	yamlFile[map[string]any](t, "deploy/grafana/source.yaml")
	yamlFile[map[string]any](t, "docs/live/alerts.yml")
}

// TestDeployedJobIsAccepted checks the job file of the compose files.
func TestDeployedJobIsAccepted(t *testing.T) {
	run(t, t.TempDir(), program(t, "cmd/amble"), "crawl", "--config", abs(t, "deploy/job.yaml"), "--print-config")
}

// TestDockerfileHasLinesOfCommand checks that the Dockerfile has the lines that the command needs.
func TestDockerfileHasLinesOfCommand(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(mod)
	if version == nil {
		t.Fatal("go.mod has no line for Go")
	}
	lines := strings.Split(string(b), "\n")
	for _, want := range []string{"FROM golang:" + string(version[1]) + " AS build", "FROM scratch", "USER 65532:65532", "VOLUME /crawls", "ENV TMPDIR=/crawls", "ENV AMBLE_STATE=/crawls/.amble", `ENTRYPOINT ["/amble"]`, "COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/"} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %q", want)
		}
	}
}

// abs returns the absolute path of a file of the project.
func abs(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}
