package monitor

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.yaml.in/yaml/v4"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/mem"
	"github.com/amble-crawler/amble/cluster/natsserver"
	"github.com/amble-crawler/amble/cluster/work"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/weburl"
)

// read returns the values of a collector's metrics, by name and labels.
func read(t *testing.T, c prometheus.Collector) map[string]float64 {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(c)
	all, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range all {
		for _, m := range family.GetMetric() {
			name := family.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			values[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return values
}

// A node counts the data that it stores, and reports the state of its job. If the engine does not answer, a metric reports that, too.
func TestNodeMetrics(t *testing.T) {
	server := mem.New()
	conn := server.Connect()
	var config job.Config
	config.Crawl.Contact = "https://lab.university.edu/crawl"
	seed, err := weburl.Parse("https://site.example/")
	if err != nil {
		t.Fatal(err)
	}
	if err := work.Create(t.Context(), conn, &work.Spec{Config: config, Seeds: []weburl.URL{seed}, Shards: 4}); err != nil {
		t.Fatal(err)
	}
	n := NewNode("n1", &work.Watcher{Engine: conn})
	e := n.Count(conn)
	if _, err := e.Append(t.Context(), 0, cluster.Nonce{1}, []byte("x"), 7); err == nil {
		t.Fatal("an append that expects another record succeeds")
	}
	if err := e.Send(t.Context(), 1, "a", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Refuse(t.Context(), conn, "n2", "no"); err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.Give(t.Context(), conn, cluster.Order{What: cluster.OrderPause}); err != nil {
		t.Fatal(err)
	}
	got := read(t, n)
	for name, want := range map[string]float64{
		"amble_cluster_failed_stores_total": 1, "amble_cluster_offers_total": 1, "amble_cluster_appends_total": 0, "amble_cluster_nodes refusing": 1,
		"amble_cluster_nodes live": 0, "amble_cluster_shards unheard": 4, "amble_cluster_shards owned": 0, "amble_cluster_engine_answers": 1,
		"amble_cluster_engine_stores": 1, "amble_cluster_resting no_shards": 1, "amble_cluster_resting engine": 0,
		"amble_cluster_resting paused": 1,
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s is %v, %v, want %v", name, v, ok, want)
		}
	}
	if err := n.Ready(); err == nil || !strings.Contains(err.Error(), "has not heard of this node") {
		t.Errorf("ready: %v", err)
	}
	conn.Cut(true)
	n.Watcher = &work.Watcher{Engine: conn}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := n.Watcher.Status(ctx); err == nil {
		t.Error("an engine that is cut off answers")
	}
}

// A server counts its streams and connections, and reports that it is ready.
func TestServerMetrics(t *testing.T) {
	s, err := natsserver.Start(natsserver.Config{Name: "s1", Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	got := read(t, Server{s})
	if got["amble_engine_stores"] != 1 || got["amble_engine_limit_bytes"] <= 0 {
		t.Errorf("%v", got)
	}
	s.Close()
	if got := read(t, Server{s}); got["amble_engine_stores"] != 0 {
		t.Errorf("a server that has ended: %v", got)
	}
}

// TestDashboardAndAlerts checks that every metric in the dashboard, in the alert rules and in the document exists, and that all three
// mention every metric.
func TestDashboardAndAlerts(t *testing.T) {
	var names []string
	for _, c := range []prometheus.Collector{NewNode("", nil), Server{}} {
		described := make(chan *prometheus.Desc, 100)
		c.Describe(described)
		close(described)
		for d := range described {
			names = append(names, regexp.MustCompile(`fqName: "([a-z_]+)"`).FindStringSubmatch(d.String())[1])
		}
	}
	text := func(name string) string {
		b, err := os.ReadFile(filepath.Join("..", "..", "..", "..", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	named := func(text string) (found []string) {
		for _, name := range regexp.MustCompile(`\bamble_(?:cluster|engine)_[a-z_]+`).FindAllString(text, -1) {
			found = append(found, strings.TrimSuffix(name, "_bucket"))
		}
		return found
	}
	board, alerts, doc := text("deploy/grafana/cluster.json"), text("deploy/cluster-alerts.yml"), text("docs/cluster.md")
	for _, x := range []string{board, alerts, doc} {
		for _, name := range named(x) {
			if !slices.Contains(names, name) {
				t.Errorf("there is no metric %s", name)
			}
		}
	}
	for _, name := range names {
		if !strings.Contains(doc, "`"+name+"`") {
			t.Errorf("docs/cluster.md does not describe %s", name)
		}
	}
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(board), &d); err != nil || len(d.Panels) != 12 {
		t.Errorf("%d panels, %v", len(d.Panels), err)
	}
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Annotations struct{ Summary, Description string }
			}
		}
	}
	if err := yaml.Unmarshal([]byte(alerts), &rules); err != nil || len(rules.Groups) != 1 || len(rules.Groups[0].Rules) != 8 {
		t.Fatalf("%v %+v", err, rules)
	}
	for _, r := range rules.Groups[0].Rules {
		if len(named(r.Expr)) == 0 || r.Annotations.Summary == "" || r.Annotations.Description == "" {
			t.Errorf("%+v", r)
		}
	}
}
