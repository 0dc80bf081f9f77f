package chart

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write what Helm renders to testdata")

const chart = "../../deploy/chart"

// cases lists the values files in testdata with which the chart is rendered: while nodes work, and while the job is collected.
var cases = []string{"work", "collect"}

// helm runs Helm, or skips the test if Helm is not installed.
func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	path, err := exec.LookPath(cmp.Or(os.Getenv("TEST_HELM"), "helm"))
	if err != nil {
		t.Skip("no Helm: ", err)
	}
	out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput()
	return string(out), err
}

// digest returns the first line for a rendered file: a digest of the values and of all files of the chart.
func digest(t *testing.T, values string) string {
	t.Helper()
	sum := sha256.New()
	add := func(path string) error {
		b, err := os.ReadFile(path)
		fmt.Fprintf(sum, "%s %d\n%s", filepath.ToSlash(path), len(b), b)
		return err
	}
	err := filepath.WalkDir(chart, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return add(path)
	})
	if err = cmp.Or(err, add(values)); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("# Rendered by Helm of files with the SHA-256 %x: go test ./chart -update\n", sum.Sum(nil))
}

// rendered returns the stored output of Helm for a case.
func rendered(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestRenderedFilesAreCurrent needs no Helm. It fails if the chart was changed but not rendered again.
func TestRenderedFilesAreCurrent(t *testing.T) {
	for _, name := range cases {
		if want := digest(t, filepath.Join("testdata", name+"-values.yaml")); !*update && !strings.HasPrefix(rendered(t, name), want) {
			t.Errorf("testdata/%s.yaml is not of this chart; with Helm in the PATH: go test ./chart -update", name)
		}
	}
}

func TestHelmRendersWhatIsInTestdata(t *testing.T) {
	for _, name := range cases {
		values := filepath.Join("testdata", name+"-values.yaml")
		if out, err := helm(t, "lint", "--strict", "--values", values, chart); err != nil {
			t.Errorf("helm lint: %v\n%s", err, out)
		}
		out, err := helm(t, "template", "shops", chart, "--namespace", "crawls", "--values", values)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		got := digest(t, values) + out
		if *update {
			if err := os.WriteFile(filepath.Join("testdata", name+".yaml"), []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if got != rendered(t, name) {
			t.Errorf("Helm renders something else than testdata/%s.yaml: go test ./chart -update\n%s", name, got)
		}
	}
}

func TestContradictingValuesAreRefused(t *testing.T) {
	for set, want := range map[string]string{
		"engine.replicas=2":                              "engine/replicas': value must be one of 1, 3, 5",
		"nodes.replicas=0":                               "nodes/replicas': minimum: got 0, want 1",
		"nodes.terminationGracePeriodSeconds=20":         "nodes/terminationGracePeriodSeconds': minimum: got 20, want 45",
		"nodes.extraArgs={--name=all}":                   "nodes/extraArgs/0': '--name=all' does not match",
		"nodes.resources.limits.memory=4G":               "nodes/resources/limits/memory': '4G' does not match",
		"nodes.resources.requests.memory=8Gi":            "nodes.resources: requests.memory 8Gi is more than limits.memory 4Gi: raise the limit",
		"engine.resources.requests.memory=2049Mi":        "engine.resources: requests.memory 2049Mi is more than limits.memory 2Gi: raise the limit",
		"persistence.enabled=false":                      "additional properties 'persistence' not allowed",
		"engine.disk=null":                               "engine': missing property 'disk'",
		"secret=":                                        "secret': minLength: got 0, want 1",
		"job=all shops":                                  "job': 'all shops' does not match",
		"collect.enabled=true":                           "collect.enabled is set, and job names none: set job to the name of the job to collect",
		"podMonitor.enabled=true":                        "podMonitor.enabled is set, and networkPolicy lets no Prometheus in: set networkPolicy.monitoring",
		"networkPolicy.privateRanges={ten.to.the.power}": "networkPolicy/privateRanges/0': 'ten.to.the.power' does not match",
	} {
		if out, err := helm(t, "template", "shops", chart, "--set", set); err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v, want %q in\n%s", set, err, want, out)
		}
	}
	if out, err := helm(t, "template", "shops", chart); err != nil || strings.Contains(out, "-node") && !strings.Contains(out, "NetworkPolicy") {
		t.Errorf("without a job: %v\n%s", err, out)
	}
}

// strict decodes a YAML document. It accepts only keys that T has.
func strict[T any](t *testing.T, doc string) *T {
	t.Helper()
	v := new(T)
	b, err := yaml.YAMLToJSONStrict([]byte(doc))
	if err != nil {
		t.Fatalf("%v\n%s", err, doc)
	}
	unknown, err := json.UnmarshalStrict(b, v) // case-sensitive: clusterIp is not clusterIP
	if err = errors.Join(append(unknown, err)...); err != nil {
		t.Errorf("%v\n%s", err, doc)
	}
	return v
}

// podMonitor has those fields of the Prometheus Operator's type PodMonitor that the chart sets.
type podMonitor struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name   string            `json:"name"`
		Labels map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		Selector struct {
			MatchLabels map[string]string `json:"matchLabels"`
		} `json:"selector"`
		PodMetricsEndpoints []struct {
			Port          string `json:"port"`
			Path          string `json:"path"`
			Interval      string `json:"interval"`
			Authorization struct {
				Credentials core.SecretKeySelector `json:"credentials"`
			} `json:"authorization"`
		} `json:"podMetricsEndpoints"`
	} `json:"spec"`
}

// TestObjectsAreThoseOfKubernetes decodes the rendered objects into Kubernetes' Go types, and checks properties that all pods must
// have.
func TestObjectsAreThoseOfKubernetes(t *testing.T) {
	for name, want := range map[string]string{
		"work":    "NetworkPolicy NetworkPolicy NetworkPolicy PodDisruptionBudget PodDisruptionBudget PodMonitor Service Service StatefulSet StatefulSet",
		"collect": "Job NetworkPolicy NetworkPolicy NetworkPolicy PersistentVolumeClaim PodDisruptionBudget Service StatefulSet",
	} {
		var kinds []string
		for _, doc := range strings.Split(rendered(t, name), "\n---\n")[1:] {
			var object struct{ Kind string }
			if err := yaml.Unmarshal([]byte(doc), &object); err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, object.Kind)
			switch object.Kind {
			case "NetworkPolicy":
				strict[networking.NetworkPolicy](t, doc)
			case "PodDisruptionBudget":
				strict[policy.PodDisruptionBudget](t, doc)
			case "PodMonitor":
				strict[podMonitor](t, doc)
			case "Service":
				strict[core.Service](t, doc)
			case "PersistentVolumeClaim":
				strict[core.PersistentVolumeClaim](t, doc)
			case "StatefulSet":
				s := strict[apps.StatefulSet](t, doc)
				checkPod(t, s.Name, s.Spec.Template.Spec, s.Spec.VolumeClaimTemplates)
				checkProbes(t, s.Name, s.Spec.Template.Spec.Containers[0])
				for key, value := range s.Spec.Selector.MatchLabels {
					if s.Spec.Template.Labels[key] != value {
						t.Errorf("%s: its pods have no label %s: %s", s.Name, key, value)
					}
				}
				if got := s.Spec.Template.Spec.TerminationGracePeriodSeconds; got == nil || *got < 45 {
					t.Errorf("%s: a stop has %v seconds, and takes half a minute", s.Name, got)
				}
			case "Job":
				j := strict[batch.Job](t, doc)
				checkPod(t, j.Name, j.Spec.Template.Spec, nil)
			}
		}
		slices.Sort(kinds)
		if got := strings.Join(kinds, " "); got != want {
			t.Errorf("%s has %s, want %s", name, got, want)
		}
	}
}

// checkPod checks that a pod has only rights that it needs, and that everything that the pod mounts exists.
func checkPod(t *testing.T, name string, pod core.PodSpec, claims []core.PersistentVolumeClaim) {
	t.Helper()
	p, c := pod.SecurityContext, pod.Containers[0]
	if p == nil || p.RunAsNonRoot == nil || !*p.RunAsNonRoot || *p.RunAsUser != 65532 || *p.FSGroup != 65532 || p.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault {
		t.Errorf("%s: the pod's security context is %v", name, p)
	}
	if s := c.SecurityContext; s == nil || !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation || len(s.Capabilities.Drop) != 1 || s.Capabilities.Drop[0] != "ALL" {
		t.Errorf("%s: the container's security context is %v", name, s)
	}
	if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken || pod.EnableServiceLinks == nil || *pod.EnableServiceLinks {
		t.Errorf("%s has the token of a service account, or variables of services", name)
	}
	if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
		t.Errorf("%s has no limit of memory, or requests no processor: %v", name, c.Resources)
	}
	for _, m := range c.VolumeMounts {
		if !slices.ContainsFunc(pod.Volumes, func(v core.Volume) bool { return v.Name == m.Name }) &&
			!slices.ContainsFunc(claims, func(v core.PersistentVolumeClaim) bool { return v.Name == m.Name }) {
			t.Errorf("%s: no volume %s", name, m.Name)
		}
	}
	for _, v := range pod.Volumes {
		if v.Secret != nil && (v.Secret.DefaultMode == nil || *v.Secret.DefaultMode != 0o440) {
			t.Errorf("%s: the secret has another mode than 0440, which the group reads", name)
		}
	}
}

// checkProbes checks that a container has all three probes, each for one of its ports. TestChart of package docs tries these probes.
func checkProbes(t *testing.T, name string, c core.Container) {
	t.Helper()
	for path, probe := range map[string]*core.Probe{"/healthz": c.LivenessProbe, "/readyz": c.ReadinessProbe} {
		if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != path ||
			!slices.ContainsFunc(c.Ports, func(p core.ContainerPort) bool { return p.Name == probe.HTTPGet.Port.StrVal }) {
			t.Errorf("%s: the probe of %s is %v", name, path, probe)
		}
	}
	if c.StartupProbe == nil {
		t.Errorf("%s has no startup probe", name)
	}
}

// TestChartIsOfThisVersion compares the chart's version with the latest one in the changelog.
func TestChartIsOfThisVersion(t *testing.T) {
	b, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	var version string
	for line := range bytes.Lines(b) {
		if v, ok := bytes.CutPrefix(line, []byte("## ")); ok && v[0] != '[' {
			version = string(bytes.Fields(v)[0])
			break
		}
	}
	text, err := os.ReadFile(filepath.Join(chart, "Chart.yaml"))
	if want := "\nappVersion: " + version + "\n"; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("%v: no line %q in Chart.yaml", err, want)
	}
}
