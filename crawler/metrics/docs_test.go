package metrics_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// TestDashboardAndAlerts: every metric in the dashboard and the alert rules exists, and every metric is described.
func TestDashboardAndAlerts(t *testing.T) {
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join("..", "..", "docs", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	named := func(text string) (found []string) {
		for _, name := range regexp.MustCompile(`\bamble_[a-z_]+`).FindAllString(text, -1) {
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				name = strings.TrimSuffix(name, suffix)
			}
			found = append(found, name)
		}
		return found
	}
	dashboard, alerts, doc := read("live/grafana.json"), read("live/alerts.yml"), read("live.md")
	for _, text := range []string{dashboard, alerts, doc} {
		for _, name := range named(text) {
			if !slices.Contains(names, name) {
				t.Errorf("there is no metric %s", name)
			}
		}
	}
	for _, name := range names {
		if !strings.Contains(doc, "`"+name+"`") {
			t.Errorf("docs/live.md does not describe %s", name)
		}
	}
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(dashboard), &d); err != nil || len(d.Panels) != 9 {
		t.Errorf("%d panels, %v", len(d.Panels), err)
	}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			if len(named(target.Expr)) == 0 {
				t.Errorf("%s: %q is about no metric", p.Title, target.Expr)
			}
		}
	}
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Annotations struct{ Summary, Description string }
			}
		}
	}
	if err := yaml.Unmarshal([]byte(alerts), &rules); err != nil || len(rules.Groups) != 1 || len(rules.Groups[0].Rules) != 4 {
		t.Fatalf("%v %+v", err, rules)
	}
	for _, r := range rules.Groups[0].Rules {
		if len(named(r.Expr)) == 0 || r.Annotations.Summary == "" || r.Annotations.Description == "" {
			t.Errorf("%+v", r)
		}
	}
}
