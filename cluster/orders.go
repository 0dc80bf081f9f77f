package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Order is an instruction of an operator to a running job. A job's orders are numbered from 1 without gaps; they are never changed or
// removed. An order applies to all nodes, including those that join later, until another order supersedes it.
type Order struct {
	Number int       `json:"number"`
	At     time.Time `json:"at"`           // when the order was given, by the engine's clock
	By     string    `json:"by,omitempty"` // name of the operator, as given
	// What is OrderPause, OrderResume, OrderDrain, OrderSet, or another word that the crawls of the shards understand ([Shard.Obey]).
	What string `json:"what"`
	To   string `json:"to,omitempty"` // subject of the order, such as a host
	// Key and Value are for OrderSet: EndPages, EndBytes, EndFailed, EndTime (in seconds) or SetRate (requests per second). Value 0: no limit.
	Key   string  `json:"key,omitempty"`
	Value float64 `json:"value,omitempty"`
}

// Orders that nodes handle themselves.
const (
	OrderPause  = "pause"  // nothing more is requested; requests in flight end normally
	OrderResume = "resume" // ends a pause; a job that is over continues
	OrderDrain  = "drain"  // the nodes end after their requests in flight; the remaining URLs stay queued
	OrderSet    = "set"    // changes a limit of the job
	OrderGrow   = "grow"   // the job has Value shards, twice as many as before; only [Grow] gives it
)

// SetRate is the Key of an order that changes Job.Rate.
const SetRate = "rate"

// Errors of [Give].
var (
	// ErrOver is wrapped by the error for an order to a job that is over. Such a job only accepts OrderResume.
	ErrOver = errors.New("cluster: the job is over")
	// ErrFaster is wrapped by the error for an order that would allow more requests than the job.
	ErrFaster = errors.New("cluster: an order cannot make a job faster than it was created")
	// ErrTooMany means that the orders of a job have reached their maximum size.
	ErrTooMany = errors.New("cluster: the job has no room for more orders")
)

// maxOrders limits the total size of a job's orders in bytes: all orders are one value in the engine, which each node reads repeatedly.
const maxOrders = 512 << 10

// Give adds an order to a job and returns it with its number and time. Orders that are given concurrently are all added, one after the
// other. The error is ErrOver, ErrFaster, ErrTooMany or ErrNoJob, or wraps ErrValue for an invalid order. After an error of the engine it
// is unknown whether the order was added, and it can be given again.
func Give(ctx context.Context, e Engine, o Order) (Order, error) {
	j, err := LoadJob(ctx, e)
	if err != nil {
		return o, err
	}
	end, err := LoadEnd(ctx, e)
	if err != nil {
		return o, err
	}
	if end != "" && o.What != OrderResume {
		return o, fmt.Errorf("%w (%s)", ErrOver, settingOf(end))
	}
	if o.What == OrderGrow {
		return o, fmt.Errorf("%w: the number of shards is doubled by Grow, not by an order alone", ErrValue)
	}
	for {
		all, rev, err := loadOrders(ctx, e)
		if err != nil {
			return o, err
		}
		if o.What == OrderSet {
			if err := j.permits(j.under(all), &o); err != nil {
				return o, err
			}
		}
		if o.At, err = e.Now(ctx); err != nil {
			return o, err
		}
		o.At, o.Number = o.At.UTC(), len(all)+1
		b, err := json.Marshal(append(all, o))
		if err != nil {
			return o, fmt.Errorf("cluster: %w", err)
		}
		if len(b) > maxOrders {
			return o, ErrTooMany
		}
		_, err = e.Store(ctx, registerOrders, b, rev)
		if err == nil {
			return o, o.begin(ctx, e, end)
		}
		if !errors.Is(err, ErrConflict) || ctx.Err() != nil {
			return o, err
		}
	}
}

// begin ends the job for OrderDrain, and continues a job that is over for OrderResume.
func (o *Order) begin(ctx context.Context, e Engine, end string) error {
	switch {
	case o.What == OrderDrain:
		return setRegister(ctx, e, registerEnd, EndStopped)
	case o.What == OrderResume && end != "":
		if err := setRegister(ctx, e, registerBegun, ""); err != nil {
			return err
		}
		return setRegister(ctx, e, registerEnd, "")
	}
	return nil
}

// LoadOrders returns the orders of a job. The result may be stale.
func LoadOrders(ctx context.Context, e Registers) ([]Order, error) {
	all, _, err := loadOrders(ctx, e)
	return all, err
}

func loadOrders(ctx context.Context, e Registers) (all []Order, rev uint64, err error) {
	b, rev, err := e.Load(ctx, registerOrders)
	if err != nil || len(b) == 0 {
		return nil, rev, err
	}
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, rev, fmt.Errorf("cluster: the register of orders: %w", err)
	}
	return all, rev, nil
}

// Paused reports whether the last of a job's orders to pause or resume is OrderPause.
func Paused(all []Order) (paused bool) {
	for i := range all {
		switch all[i].What {
		case OrderPause:
			paused = true
		case OrderResume:
			paused = false
		}
	}
	return paused
}

// permits returns an error if an order may not set its value: the rate may not exceed the job's, and the number of pages may only increase.
func (j *Job) permits(now Job, o *Order) error {
	if !(o.Value >= 0) || o.Value > 1<<53 {
		return fmt.Errorf("%w: %s is %v: must be a number, 0 for no limit", ErrValue, o.Key, o.Value)
	}
	switch o.Key {
	case SetRate:
		if j.Rate > 0 && (o.Value == 0 || o.Value > j.Rate) {
			return fmt.Errorf("%w: its rate is %v requests a second", ErrFaster, j.Rate)
		}
	case EndPages:
		if j.Limits.Pages == 0 || int64(o.Value) < now.Limits.Pages {
			return fmt.Errorf("%w: %s is %s, and can only be raised", ErrValue, settingOf(o.Key), limitText(now.Limits.Pages))
		}
	case EndBytes, EndFailed, EndTime:
	default:
		return fmt.Errorf("%w: %q cannot be set while a job runs", ErrValue, o.Key)
	}
	return nil
}

// settingOf returns the name of the setting for a limit or for an end of a job, such as max-pages for max_pages.
func settingOf(key string) string { return strings.ReplaceAll(key, "_", "-") }

func limitText(limit int64) string {
	if limit == 0 {
		return "none"
	}
	return strconv.FormatInt(limit, 10)
}

// under returns the job with the limits set by its orders. No order can raise its rate, whoever stored the order.
func (j Job) under(all []Order) Job {
	rate := j.Rate
	for i := range all {
		o := &all[i]
		switch {
		case o.What != OrderSet:
		case o.Key == SetRate:
			if rate = o.Value; j.Rate > 0 && !(rate > 0 && rate <= j.Rate) {
				rate = j.Rate
			}
		case o.Key == EndPages && j.Limits.Pages > 0:
			j.Limits.Pages = max(j.Limits.Pages, int64(o.Value))
		case o.Key == EndBytes:
			j.Limits.Bytes = int64(o.Value)
		case o.Key == EndFailed:
			j.Limits.Failed = int64(o.Value)
		case o.Key == EndTime:
			j.Limits.Time = time.Duration(o.Value * float64(time.Second))
		}
	}
	j.Rate = rate
	return j
}

// readOrders applies new orders. With decide, it reports whether this node knows all orders given so far: it stores the orders again, which
// fails if the value read was stale (E8).
func (n *Node) readOrders(ctx context.Context, decide bool) bool {
	all, rev, err := loadOrders(ctx, n.engine)
	if err == nil && decide {
		err = storeJSON(ctx, n.engine, registerOrders, all, rev)
	}
	if n.outgrown = n.outgrown || n.job.outgrown(all); err != nil || n.outgrown {
		return false // try again in the next step
	}
	n.mu.Lock()
	if len(all) <= n.obeyed {
		n.mu.Unlock()
		return true
	}
	n.orders, n.now = all, n.job.under(all)
	n.pause(Paused(all))
	var shards []*Shard
	for _, h := range n.owned {
		if h.shard != nil {
			shards = append(shards, h.shard)
		}
	}
	n.mu.Unlock()
	for _, s := range shards { // a shard opened meanwhile gets the orders before its crawl begins
		s.follow(all)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.obeyed = len(all)
	return true
}

// pause begins or ends a pause. The caller must hold the lock.
func (n *Node) pause(paused bool) {
	switch {
	case paused && n.resumed == nil:
		n.resumed = make(chan struct{})
		n.recall()
	case !paused && n.resumed != nil:
		close(n.resumed)
		n.resumed = nil
		n.claims, n.recall = context.WithCancel(n.alive)
	}
}

// claiming returns a context for claims, which ends when a pause begins. In a pause, resumed is closed when the pause ends; else it is nil.
func (n *Node) claiming() (claims context.Context, resumed <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.claims, n.resumed
}

// current returns the job, with the changes by its orders.
func (n *Node) current() Job {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.now
}

// Obey registers f to be called for each order to the job, in the order of their numbers: for existing orders before Obey returns, for
// later ones as they arrive. A crawl that calls Obey before it begins requests nothing that existing orders forbid. f must return quickly;
// its calls do not overlap. f can ignore pauses, ends and limits of the job: the shard handles them.
func (s *Shard) Obey(f func(o Order)) {
	s.obeying.Lock()
	s.obey = f
	s.obeying.Unlock()
	s.node.mu.Lock()
	all := s.node.orders
	s.node.mu.Unlock()
	s.follow(all)
}

// follow passes new orders to the crawl.
func (s *Shard) follow(all []Order) {
	s.obeying.Lock()
	defer s.obeying.Unlock()
	for s.obey != nil && s.obeyed < len(all) {
		s.obey(all[s.obeyed])
		s.obeyed++
	}
}
