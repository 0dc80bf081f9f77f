package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/hidden"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/digest"
)

// sheetSchema is the version of the data sheet's format. It changes when a field changes its meaning or is removed, but not for new
// fields.
const sheetSchema = "amble.datasheet/1"

// sheet is the data sheet of a crawl: what others must know before they use its data. Times are in seconds.
type sheet struct {
	Schema     string                  `json:"schema"`
	Answers    []answer                `json:"answers"`
	Frame      sheetFrame              `json:"frame"`
	Bounds     map[string]string       `json:"bounds"` // limits in force
	Finish     string                  `json:"finish"`
	Order      sheetOrder              `json:"order"`
	Who        sheetWho                `json:"who"`
	When       sheetWhen               `json:"when"`
	Where      []string                `json:"where"` // names of the machines
	Got        sheetGot                `json:"got"`
	Unseen     []unseen                `json:"unseen"` // sorted by number, largest first
	Censored   []censored              `json:"censored"`
	Robots     sheetRobots             `json:"robots"`
	Usage      map[string]int          `json:"usage"` // visits by a use and the site's statement about it
	Terms      sheetTerms              `json:"terms"`
	Duplicates sheetDuplicates         `json:"duplicates"`
	Politeness sheetPoliteness         `json:"politeness"`
	Cost       sheetCost               `json:"cost"`
	Versions   sheetVersions           `json:"versions"`
	Files      map[string]job.FileFact `json:"files"`    // state when the last process ended
	Settings   map[string]string       `json:"settings"` // all settings
	Repeat     []string                `json:"repeat"`   // commands that check and repeat the crawl
}

// sheetTerms holds the verdicts that followed from the statements of sites about uses.
type sheetTerms struct {
	Purposes []string                  `json:"purposes"`           // purposes for which pages were collected
	Verdicts map[string]int            `json:"verdicts,omitempty"` // visits, as in report.json
	LeftOut  map[string]map[string]int `json:"left_out,omitempty"` // visits by host and statement
	Cost     []crawler.HostCost        `json:"cost,omitempty"`     // payments that sites asked for and did not get
}

type sheetFrame struct {
	Seeds  int      `json:"seeds"`
	First  []string `json:"first"`  // seeds, at most 20
	SHA256 string   `json:"sha256"` // hash of all seeds, each followed by a line feed
	Scope  string   `json:"scope"`
	Depth  string   `json:"depth"`
	Known  int      `json:"known"` // URLs found that have an outcome or are left

	Sample *sheetSample `json:"sample,omitempty"` // nil if links were followed
}

// sheetSample describes a sample that was drawn from sitemaps.
type sheetSample struct {
	Draw   string             `json:"draw"` // N:SEED
	Listed int                `json:"listed"`
	Drawn  int                `json:"drawn"`
	Sites  []crawler.SiteDraw `json:"sites"`
}

func (s *source) drawn() *sheetSample {
	d := &sheetSample{Draw: s.manifest.Settings["sample"], Sites: s.report.Draws}
	for _, h := range d.Sites {
		d.Listed, d.Drawn = d.Listed+h.Listed, d.Drawn+h.Drawn
	}
	if len(d.Sites) == 0 {
		return nil
	}
	return d
}

// sheetOrder describes the order in which pages were fetched, and whether a second crawl with the same responses would fetch the same
// pages.
type sheetOrder struct {
	Order string   `json:"order"`
	Same  bool     `json:"same_sample"`
	If    string   `json:"provided,omitempty"`
	Not   []string `json:"not_because,omitempty"`
}

type sheetWho struct {
	Agent   string    `json:"agent"`
	Contact string    `json:"contact"`
	Runs    []job.Run `json:"runs"` // at most the last 50
}

type sheetWhen struct {
	Created time.Time `json:"created"`
	First   time.Time `json:"first_request,omitzero"`
	Last    time.Time `json:"last_answer,omitzero"`
	Active  float64   `json:"seconds"`           // seconds in which a process worked on the job
	Bound   float64   `json:"bound_s,omitempty"` // minimum time that politeness allows
}

type sheetGot struct {
	Pages    int            `json:"pages"`
	Hosts    int            `json:"hosts"` // hosts with at least one request
	Bytes    int64          `json:"bytes"` // decoded bytes of pages
	Outcomes map[string]int `json:"outcomes"`
	Left     int            `json:"left"`
}

// unseen counts known URLs whose pages are not in the data.
type unseen struct {
	Cause string `json:"cause"` // a reason code, "left" or "status_" and a status
	Means string `json:"means"`
	URLs  int    `json:"urls"`
}

type censored struct {
	Host  string `json:"host"`
	State string `json:"state"`
	Pages int    `json:"pages"`
}

type sheetRobots struct {
	Requests    int         `json:"requests"`
	Hosts       int         `json:"hosts"`       // hosts whose robots.txt was requested
	Unreachable int         `json:"unreachable"` // of Hosts, those whose last request got no response, 429 or 5xx
	Refused     int         `json:"refused_urls"`
	Share       float64     `json:"refused_share"` // share of the known URLs
	Rules       []sheetRule `json:"rules"`         // the rules that refused the most URLs, at most 50
	Overrides   []string    `json:"overrides,omitempty"`
}

type sheetRule struct {
	Rule  string `json:"rule"`
	Where string `json:"where,omitempty"`
	URLs  int    `json:"urls"`
}

type sheetDuplicates struct {
	Same    int `json:"same_body"`
	Near    int `json:"near"`
	Refused int `json:"not_followed"` // visits with the outcome duplicate
}

type sheetPoliteness struct {
	Requests int     `json:"requests"`
	Judged   int     `json:"pauses_judged"`
	Ratio    float64 `json:"least_ratio,omitempty"` // minimum of observed ÷ required
	Early    int     `json:"early"`
	Unjudged int     `json:"unjudged,omitempty"`
}

type sheetCost struct {
	Requests     int            `json:"requests"`
	Retries      int            `json:"retries"`
	Bytes        int64          `json:"bytes"`
	Connections  int            `json:"connections"`
	Server       float64        `json:"server_seconds"`
	TooMany      int            `json:"answers_429"`
	ServerErrors int            `json:"answers_5xx"`
	Walls        map[string]int `json:"walls,omitempty"` // challenges by the name of the bot wall
}

type sheetVersions struct {
	Software  string            `json:"software"`
	Build     string            `json:"build,omitempty"`
	Toolchain string            `json:"toolchain"` // Go version of the program that wrote the data sheet
	Modules   map[string]string `json:"modules"`   // modules of the same program, with their checksums
}

// maxSeeds limits the seeds in the list.
const maxSeeds = 20

// sheet makes the data sheet. written is the previous one, whose answers are kept.
func (s *source) sheet(written []byte) (*sheet, error) {
	answers, err := answersIn(written)
	if err != nil {
		return nil, err
	}
	m, r, t, set := s.manifest, s.report, &s.facts.Total, s.manifest.Settings
	d := &sheet{
		Schema: sheetSchema, Answers: answers, Bounds: map[string]string{}, Finish: string(r.Finish), Settings: set, Files: m.Outputs,
		Frame: sheetFrame{len(m.Seeds), m.Seeds[:min(maxSeeds, len(m.Seeds))], sumOf(m.Seeds), set["scope"], set["depth"], s.facts.Known + r.Left, s.drawn()},
		Order: s.order(),
		Who:   sheetWho{set["agent"], set["contact"], m.Runs[max(0, len(m.Runs)-maxRuns):]},
		When:  sheetWhen{m.Created.UTC(), s.facts.First.UTC(), s.facts.Last.UTC(), r.Elapsed.Seconds(), r.Bound.Seconds()},
		Got:   sheetGot{t.Pages(), s.hostCount(), t.Size, t.Outcomes, r.Left},
		Usage: t.Usage, Terms: sheetTerms{purposesOf(set), r.Verdicts, r.LeftOut, r.Cost}, Duplicates: sheetDuplicates{t.Same, t.Near, t.Outcomes["duplicate"]},
		Politeness: sheetPoliteness{t.Requests, t.Pauses.Owed, t.Pauses.Ratio, t.Early, s.facts.Unjudged},
		Cost:       sheetCost{t.Requests, t.Retries, t.Bytes, r.Connections, t.Server.Seconds(), t.TooMany, t.Classes[5], t.Walls},
		Versions:   versions(m), Robots: s.robots(), Unseen: s.unseen(), Censored: s.censoredHosts(), Repeat: s.repeat(),
	}
	for _, key := range []string{"max-pages", "max-per-host", "max-bytes", "max-time", "depth", "max-body", "retries"} {
		if v := set[key]; v != "" && v != "none" {
			d.Bounds[key] = v
		}
	}
	if set["sitemaps"] == "true" || d.Frame.Sample != nil {
		d.Bounds["max-sitemaps"] = set["max-sitemaps"]
	}
	for _, run := range m.Runs {
		where := fmt.Sprintf("%s (%s/%s)", cmp.Or(run.Host.Name, "without a name"), run.Host.OS, run.Host.Arch)
		if !slices.Contains(d.Where, where) && len(d.Where) < maxSeeds {
			d.Where = append(d.Where, where)
		}
	}
	return d, nil
}

// sumOf returns the SHA-256 of lines in hexadecimal, each with a line feed.
func sumOf(lines []string) string {
	h := sha256.New()
	for _, l := range lines {
		_, _ = io.WriteString(h, l+"\n") // Write on a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil))
}

// versions returns the version of the program that made the crawl, and of this program, which differs only if the sheet is written
// later. The Go version of each process is in its run.
func versions(m *job.Manifest) sheetVersions {
	last := m.Last()
	v := sheetVersions{Software: last.Software, Build: last.Build, Modules: map[string]string{}}
	if info, ok := debug.ReadBuildInfo(); ok {
		v.Toolchain = info.GoVersion
		for _, dep := range info.Deps {
			if dep.Replace != nil {
				dep = dep.Replace
			}
			v.Modules[dep.Path] = strings.TrimSpace(dep.Version + " " + dep.Sum)
		}
	}
	return v
}

// unseen lists the causes for which known pages are not in the data.
func (s *source) unseen() []unseen {
	t := &s.facts.Total
	list := []unseen{}
	for reason, n := range t.Reasons {
		if strings.HasPrefix(reason, "redirect") || reason == crawler.ReasonSample { // the URL is not a separate page
			continue
		}
		list = append(list, unseen{Cause: reason, Means: ReasonText(reason), URLs: n})
	}
	for status, n := range t.Statuses {
		list = append(list, unseen{Cause: fmt.Sprintf("status_%d", status), Means: fmt.Sprintf("answered with status %d", status), URLs: n})
	}
	if s.report.Left > 0 {
		list = append(list, unseen{Cause: "left", Means: "queued, and not requested when the crawl ended", URLs: s.report.Left})
	}
	slices.SortFunc(list, func(a, b unseen) int { return cmp.Or(b.URLs-a.URLs, cmp.Compare(a.Cause, b.Cause)) })
	return list
}

func (s *source) censoredHosts() []censored {
	list := []censored{}
	for i := range s.facts.Hosts {
		h := &s.facts.Hosts[i]
		if state, _ := s.state(h); slices.Contains(censoring, state) {
			list = append(list, censored{site(h.Name), state, h.Pages()})
		}
	}
	return list
}

func (s *source) robots() sheetRobots {
	t := &s.facts.Total
	r := sheetRobots{Requests: t.Robots, Refused: t.Reasons["robots_disallow"], Rules: []sheetRule{}}
	if known := s.facts.Known + s.report.Left; known > 0 {
		r.Share = float64(r.Refused) / float64(known)
	}
	for i := range s.facts.Hosts {
		if h := &s.facts.Hosts[i]; !h.Rules.At.IsZero() {
			r.Hosts++
			if h.Rules.Failed > 0 {
				r.Unreachable++
			}
		}
	}
	refusing := slices.DeleteFunc(slices.Clone(s.facts.Rules), func(g digest.Group) bool { return g.Reason != "robots_disallow" })
	for _, g := range refusing[:min(maxRules, len(refusing))] {
		r.Rules = append(r.Rules, sheetRule{g.Rule, g.Where, g.Count})
	}
	for _, o := range s.report.Overrides {
		r.Overrides = append(r.Overrides, o.Origin+": "+o.Reason)
	}
	return r
}

// repeat lists the commands that check and repeat the crawl.
func (s *source) repeat() []string {
	list := []string{"sha256sum -c " + job.SumsName}
	if s.commands.Verify != "" {
		list = append(list, s.commands.Verify+" .")
	}
	if len(s.manifest.Program) > 0 {
		return append(list, "the program that made the crawl: it sets "+and(s.manifest.Program...)+", which no setting can say")
	}
	if s.commands.Crawl != "" {
		list = append(list, s.commands.Crawl+" job.yaml -o ../again")
	}
	return list
}

// writeSheet writes the data sheet.
func (s *source) writeSheet(r *job.Reader) error {
	written, err := r.Written(job.SheetName)
	if err != nil {
		return err
	}
	d, err := s.sheet(written)
	if err != nil {
		return err
	}
	b, err := d.data()
	if err != nil {
		return err
	}
	if err := r.Replace(job.SheetDataName, b); err != nil {
		return err
	}
	return r.Replace(job.SheetName, d.markdown())
}

// data returns the data sheet for programs.
func (d *sheet) data() ([]byte, error) {
	b, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("data sheet: %w", err)
	}
	return append(hidden.Escape(b), '\n'), nil
}

// sortedKeys returns the sorted keys of a map.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// order describes the order in which pages were fetched, and why another crawl might fetch others. docs/research-crawls.md has the
// promise.
func (s *source) order() sheetOrder {
	set, r, t := s.manifest.Settings, s.report, &s.facts.Total
	o := sheetOrder{Order: s.orderInWords()}
	drawn := s.drawn() != nil // the pages come from lists, none from a link
	not := func(format string, args ...any) { o.Not = append(o.Not, fmt.Sprintf(format, args...)) }
	if scope := set["scope"]; !drawn && scope != "host" && scope != "prefix" {
		not("with the scope “%s” a site's pages are also found through links from other sites, and which of them comes first depends on timing", scope)
	}
	if n := s.facts.Crossed; !drawn && n > 0 {
		not("%s found through another site, which may come earlier or later than the site's own links", plural(n, "page")+verb(n))
	}
	switch r.Finish {
	case crawler.FinishDone:
	case crawler.FinishPages, crawler.FinishBytes, crawler.FinishTime, crawler.FinishErrors, crawler.FinishMinFree, crawler.FinishMaxDisk:
		not("it ended by a limit over all sites (%s), which fast sites use up first", finishText(r, ""))
	default:
		not("it did not come to its end: %s", finishText(r, ""))
	}
	if r.Retries > 0 {
		not("%s repeated after failures: such a URL comes later in the order, and when depends on timing", plural(r.Retries, "request")+verb(r.Retries))
	}
	if n := t.Reasons["host_failed"] + t.Reasons["robots_unreachable"]; n > 0 {
		not("sites were given up after failures, and with them %s", plural(n, "URL"))
	}
	if len(s.manifest.Program) > 0 {
		not("a program decided, too (%s), and may do so otherwise the next time", and(s.manifest.Program...))
	}
	if o.Same = len(o.Not) == 0; o.Same && !drawn && s.hostCount() > 1 {
		o.If = "no page of one of these sites links to a page of another that is in scope; none was found in this way"
	}
	return o
}

// orderInWords describes the order in which the pages of a site were requested.
func (s *source) orderInWords() string {
	seed, hash := crawler.Order(s.manifest.Settings["order"]).Seed()
	if d := s.drawn(); d != nil && !hash {
		_, seed, _ = strings.Cut(d.Draw, ":")
		return fmt.Sprintf("by a keyed hash of the URL, with the seed “%s”: the pages drawn, the smallest first", seed)
	}
	if !hash {
		return "first found, first fetched: near breadth first, not random"
	}
	return fmt.Sprintf("by a keyed hash of the URL, with the seed “%s”, wherever its link stood: of the pages known of a site, those with a higher class than all that were left out are a random sample", seed)
}

// ForOwner returns a summary of the requests to a host, for its owner.
func ForOwner(h *digest.Row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "In sum, from %s to %s: %s to the host, %s of them for robots.txt; %s received, %s of the server's time.\n",
		stamp(h.First), stamp(h.Last), plural(h.Requests, "request"), num(h.Robots), bytesText(h.Bytes), span(of(h.Server)))
	if h.Pauses > 0 {
		fmt.Fprintf(&b, "The shortest pause was %s, where %s was owed. ", span(of(h.Least)), span(of(h.Owed)))
	}
	if h.Early > 0 {
		fmt.Fprintf(&b, "%s TOO EARLY, or against another rule of pace.\n", strings.ToUpper(plural(h.Early, "request")))
		return b.String()
	}
	b.WriteString("No request was too early.\n")
	if n := h.Classes[5] + h.TooMany; n > 0 {
		fmt.Fprintf(&b, "The host answered 429 or 5xx %s.\n", howOften(n))
	}
	return b.String()
}

// of converts seconds to a duration.
func of(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
