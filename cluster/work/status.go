package work

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/internal/cli"
)

// Summary describes the state of a job, in the form that the command prints.
type Summary struct {
	Shards   int            `json:"shards"`
	End      string         `json:"end,omitempty"` // why the job ended; "": it has not
	Pages    int64          `json:"pages"`
	Requests int64          `json:"requests"`
	Bytes    int64          `json:"bytes"`
	Failed   int64          `json:"failed"`
	Left     int            `json:"left"` // known URLs that are not done yet
	Limit    int64          `json:"max_pages,omitempty"`
	Unheard  int            `json:"unheard"`            // shards without an owner, or whose owner does not answer; the counts exclude them
	Unstored string         `json:"unstored,omitempty"` // why the engine stores nothing at present; "": it stores
	Dead     int            `json:"dead_letters"`       // unreadable messages of inboxes, whose links are lost
	Paused   bool           `json:"paused,omitempty"`
	Orders   []OrderSummary `json:"orders,omitempty"`
	Nodes    []NodeSummary  `json:"nodes"`
	List     []ShardSummary `json:"list"`

	at time.Time // time at which the status was read
}

// NodeSummary is a node in a Summary.
type NodeSummary struct {
	Name   string  `json:"name"`
	Live   bool    `json:"live"`
	Shards int     `json:"shards"` // number of shards that the node owns
	Pages  int64   `json:"pages"`  // pages of the node's shards, including those fetched by earlier owners
	Left   int     `json:"left"`
	Ahead  float64 `json:"ahead_s"` // offset of the node's clock from the engine's; positive: ahead
	Error  float64 `json:"error_s"`
	Lag    int64   `json:"lag_bytes"` // bytes of the shards' journals that another node would have to read
	Orders int     `json:"orders"`    // number of the last order that the node applies
	// Refuses is the reason why the node does not work on the job; "" if it works or worked on it.
	Refuses string `json:"refuses,omitempty"`
	Waits   string `json:"waits,omitempty"` // why the node takes no shards at present; "": it takes its share
}

// ShardSummary is a shard in a Summary.
type ShardSummary struct {
	Shard int     `json:"shard"`
	Node  string  `json:"node,omitempty"` // owner of the shard; "" if it has none
	Epoch uint64  `json:"epoch"`
	Since float64 `json:"silent_s"` // seconds since the owner's last record
	Idle  bool    `json:"idle"`
	Pages int64   `json:"pages"`
	Left  int     `json:"left"`
	Lag   int64   `json:"lag_bytes"`
	Dead  int     `json:"dead_letters"`
}

// OrderSummary is an order of the operator in a Summary.
type OrderSummary struct {
	cluster.Order

	Missing []string `json:"missing,omitempty"` // live nodes that do not apply the order yet
}

// Summarize returns the summary of a job's state.
func Summarize(s *cluster.Status, now time.Time) *Summary {
	x := &Summary{Shards: len(s.Shards), End: s.End, Limit: s.Job.Limits.Pages, Nodes: []NodeSummary{}, List: []ShardSummary{}}
	if s.Unstored != nil {
		x.Unstored = s.Unstored.Error()
	}
	x.at = now
	nodes := map[string]*NodeSummary{}
	for _, n := range s.Nodes {
		nodes[n.Name] = &NodeSummary{Name: n.Name, Live: n.Live, Ahead: n.Clock.Ahead.Seconds(), Error: n.Clock.Error.Seconds(), Orders: n.Orders, Refuses: n.Refuses, Waits: n.Waits}
	}
	x.Paused = cluster.Paused(s.Orders)
	for _, o := range s.Orders {
		one := OrderSummary{Order: o}
		for _, n := range s.Nodes {
			if n.Live && n.Orders < o.Number {
				one.Missing = append(one.Missing, n.Name)
			}
		}
		x.Orders = append(x.Orders, one)
	}
	for _, h := range s.Shards {
		left := h.Queue.Queued + h.Queue.Waiting + h.Queue.Claimed
		one := ShardSummary{Shard: h.Number, Epoch: h.Epoch, Idle: h.Idle, Pages: h.Counts.Pages, Left: left, Lag: h.Lag, Dead: h.DeadLetters}
		x.Dead += h.DeadLetters
		if !h.Last.IsZero() {
			one.Since = now.Sub(h.Last).Seconds()
		}
		if !h.Answered {
			x.Unheard++
		}
		if !h.Closed {
			one.Node = h.Node
		}
		x.Pages, x.Requests, x.Bytes, x.Failed, x.Left = x.Pages+h.Counts.Pages, x.Requests+h.Counts.Requests, x.Bytes+h.Counts.Bytes, x.Failed+h.Counts.Failed, x.Left+left
		if n := nodes[one.Node]; n != nil {
			n.Shards, n.Pages, n.Left, n.Lag = n.Shards+1, n.Pages+one.Pages, n.Left+left, n.Lag+h.Lag
		}
		x.List = append(x.List, one)
	}
	for _, n := range nodes {
		x.Nodes = append(x.Nodes, *n)
	}
	slices.SortFunc(x.Nodes, func(a, b NodeSummary) int { return cmp.Compare(a.Name, b.Name) })
	return x
}

// Text returns the summary as text for a terminal.
func (x *Summary) Text(name string) string {
	var b strings.Builder
	running := "running"
	if x.Paused {
		running = "paused"
	}
	fmt.Fprintf(&b, "job %s: %s, %s", cli.Printable(name), cli.Plural(x.Shards, "shard"), cmp.Or(strings.ReplaceAll(x.End, "_", " "), running))
	if x.Unheard < x.Shards {
		fmt.Fprintf(&b, "; %d pages", x.Pages)
		if x.Limit > 0 {
			fmt.Fprintf(&b, " of at most %d", x.Limit)
		}
		fmt.Fprintf(&b, ", %d requests, %s, %d failed, %d URLs left", x.Requests, cli.Bytes(x.Bytes), x.Failed, x.Left)
	}
	b.WriteByte('\n')
	if x.Unstored != "" {
		fmt.Fprintf(&b, storesNothing, cli.Printable(x.Unstored))
	}
	if x.Dead > 0 {
		fmt.Fprintf(&b, "%s of inboxes could not be read and were put aside, links in them are lost\n", cli.Plural(x.Dead, "message"))
	}
	for _, o := range x.Orders {
		b.WriteString(o.text() + "\n")
	}
	for _, n := range x.Nodes {
		if n.Refuses != "" {
			fmt.Fprintf(&b, "node %s refuses the job: %s\n", cli.Printable(n.Name), cli.Printable(n.Refuses))
		} else if n.Live && n.Waits != "" {
			fmt.Fprintf(&b, "node %s takes no shards: %s\n", cli.Printable(n.Name), n.Waits)
		}
	}
	if x.End != "" && x.Unheard == x.Shards && len(x.Nodes) > 0 { // the results are only in the directories of the nodes
		names := make([]string, len(x.Nodes))
		for i, n := range x.Nodes {
			names[i] = cli.Printable(n.Name)
		}
		fmt.Fprintf(&b, "No node works on it any more; the last were %s. Collecting needs the directories of all that ever worked on it\n", strings.Join(names, ", "))
		return b.String()
	}
	nodes := cli.NewTable("", "node", ">live", ">shards", ">pages", ">left", ">lag", ">clock ahead")
	for _, n := range x.Nodes {
		live := "yes"
		if !n.Live {
			live = "no"
		}
		nodes.Row(n.Name, live, n.Shards, n.Pages, n.Left, cli.Bytes(n.Lag), fmt.Sprintf("%v ± %v", seconds(n.Ahead), seconds(n.Error)))
	}
	if len(x.Nodes) > 0 {
		b.WriteString(nodes.String())
	}
	if x.Unheard > 0 {
		fmt.Fprintf(&b, "%s without an owner that answers: not in the counts\n", cli.Plural(x.Unheard, "shard"))
	}
	return b.String()
}

// text returns the order as one line of text.
func (o *OrderSummary) text() string {
	line := fmt.Sprintf("order %d at %s: %s", o.Number, o.At.UTC().Format(time.RFC3339), cli.Printable(strings.TrimSpace(o.What+" "+cli.Middle(o.To, 200))))
	if o.By != "" {
		line += ", by " + cli.Printable(o.By)
	}
	if len(o.Missing) > 0 {
		line += "; not obeyed yet by " + cli.Printable(strings.Join(o.Missing, ", "))
	}
	return line
}

const storesNothing = "The engine stores nothing: %s. Nodes request nothing meanwhile: see to the servers, and to the room on their disks\n"

func seconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(time.Millisecond)
}

// Text returns the result as text for a terminal.
func (c *Checked) Text() string {
	var b strings.Builder
	if c.Unstored != "" {
		fmt.Fprintf(&b, storesNothing, cli.Printable(c.Unstored))
	}
	for _, name := range c.LeftOut {
		fmt.Fprintf(&b, "left out: %s is no directory of a node\n", cli.Printable(name))
	}
	for _, f := range c.Faults {
		fmt.Fprintf(&b, "fault: %s\n", cli.Printable(f))
	}
	fmt.Fprintf(&b, "%s, %s, %s committed", cli.Plural(c.Shards, "shard"), cli.Plural(c.Segments, "segment"), cli.Plural(c.Visits, "visit"))
	if len(c.Faults) == 0 {
		b.WriteString(": no fault")
	} else {
		fmt.Fprintf(&b, ": %s, with %s", cli.Plural(len(c.Faults), "fault"), cli.Plural(c.Damaged, "visit"))
	}
	b.WriteByte('\n')
	return b.String()
}
