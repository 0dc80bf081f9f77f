package work

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
)

// Operator gives orders to the running job of an engine. Its methods are safe for concurrent use.
type Operator struct {
	Engine cluster.Engine
	Name   string // name of the person who gives orders, recorded in the job
}

// ErrOrder is wrapped by the error of [Operator.Order] for an invalid order.
var ErrOrder = errors.New("the order is refused")

// Order gives an order, and returns it as recorded in the job:
//
//	pause, resume, drain   as cluster.OrderPause and so on
//	leave-out HOST         request nothing more from the host and names below it
//	opt-out HOST...        the same for a list
//	slower HOST DELAY      at least this delay between two requests to the host
//	set KEY=VALUE          rate, at most the job's; max-pages, which can be raised; max-bytes, max-errors, max-time
//	retry                  request hosts again that were given up; pages that failed stay failed
//
// The error wraps ErrOrder, politeness.ErrShorter for a delay that is shorter than the delay in force, a *job.KeyError, or is one of
// cluster.Give.
func (x *Operator) Order(ctx context.Context, what string, args ...string) (cluster.Order, error) {
	o := cluster.Order{What: what, By: x.Name, To: strings.Join(args, " ")}
	j, err := Load(ctx, x.Engine)
	if err != nil {
		return o, err
	}
	known, err := cluster.LoadOrders(ctx, x.Engine)
	if err != nil {
		return o, err
	}
	if err := j.checkOrder(&o, args, known); err != nil {
		return o, err
	}
	return cluster.Give(ctx, x.Engine, o)
}

// checkOrder returns an error if an order is invalid for a job with the known orders.
func (j *Job) checkOrder(o *cluster.Order, args []string, known []cluster.Order) error {
	want := map[string]int{job.ActionLeaveOut: 1, job.ActionSlower: 2, job.ActionSet: 1}[o.What]
	switch o.What {
	case job.ActionPause, job.ActionResume, job.ActionDrain, job.ActionRetry, job.ActionLeaveOut, job.ActionSlower, job.ActionSet:
		if len(args) != want {
			return fmt.Errorf("%w: %s takes %s, not %d", ErrOrder, o.What, cli.Plural(want, "argument"), len(args))
		}
	case job.ActionOptOut:
		if len(args) == 0 {
			return fmt.Errorf("%w: %s names no host", ErrOrder, o.What)
		}
	default:
		return fmt.Errorf("%w: no such order: %q", ErrOrder, o.What)
	}
	if o.What == job.ActionSet {
		return setting(o)
	}
	p := &j.Config.Crawl.Politeness
	cfg := crawler.Config{Agent: j.Config.Crawl.Agent, Contact: j.Config.Crawl.Contact}
	cfg.Politeness.Delay, cfg.Politeness.HostDelays = p.Delay, slices.Clone(p.HostDelays)
	c, err := crawler.New(cfg) // this crawler makes no requests; it only checks orders
	if err != nil {
		return err
	}
	for i := range known {
		_ = j.obey(c, &known[i]) // known orders were valid when they were given
	}
	if err := j.obey(c, o); err != nil {
		return fmt.Errorf("%w: %w", ErrOrder, err)
	}
	return nil
}

// setting parses KEY=VALUE as in a job file, and sets Key and Value of the order.
func setting(o *cluster.Order) error {
	key, value, ok := strings.Cut(o.To, "=")
	if !ok {
		return fmt.Errorf("%w: %q is not KEY=VALUE", ErrOrder, o.To)
	}
	c, err := job.Settings{{Name: key, Values: []string{value}}}.Config()
	if err != nil {
		return err
	}
	l := c.Crawl.Limits
	switch key {
	case "rate":
		o.Key, o.Value = cluster.SetRate, c.Crawl.Politeness.Rate
	case "max-pages":
		o.Key, o.Value = cluster.EndPages, float64(max(0, l.Pages))
	case "max-bytes":
		o.Key, o.Value = cluster.EndBytes, float64(max(0, l.Bytes))
	case "max-errors":
		o.Key, o.Value = cluster.EndFailed, float64(max(0, l.Errors))
	case "max-time":
		o.Key, o.Value = cluster.EndTime, max(0, l.Time.Seconds())
	default:
		return fmt.Errorf("%w: %s cannot be set while a job runs: rate, max-pages, max-bytes, max-errors and max-time can", ErrOrder, key)
	}
	return nil
}

// retryFor limits the age of a retry order that a new owner of a shard applies. The previous owner may not have applied a younger order.
const retryFor = 3 * cluster.DefaultTTL

// obey passes an order to a crawl.
func (j *Job) obey(c *crawler.Crawler, o *cluster.Order) error {
	switch o.What {
	case job.ActionLeaveOut, job.ActionOptOut:
		return c.LeaveOut(strings.Split(o.To, " ")...) // an empty name is refused
	case job.ActionSlower:
		host, text, _ := strings.Cut(o.To, " ")
		var d cli.Duration
		if err := d.UnmarshalText([]byte(text)); err != nil || d <= 0 {
			return fmt.Errorf("%q is no delay: want one such as 5s or 2m", text)
		}
		return c.Slower(host, time.Duration(d))
	case job.ActionRetry:
		if time.Since(o.At) < max(retryFor, 3*j.TTL) {
			c.Gate().Forgive()
		}
	}
	return nil
}
