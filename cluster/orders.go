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

// Order is an instruction of an operator for a job that runs. A job's orders are numbered from 1 without holes; none is ever changed
// or removed. Each holds for all nodes, also for those that join later, until another order says otherwise.
type Order struct {
	Number int       `json:"number"`
	At     time.Time `json:"at"`           // by the engine's clock
	By     string    `json:"by,omitempty"` // name of the operator, as given
	// What is OrderPause, OrderResume, OrderDrain, OrderSet, or a word that the crawls of the shards know ([Shard.Obey]).
	What string `json:"what"`
	To   string `json:"to,omitempty"` // subject of the order, such as a host
	// Key and Value are those of OrderSet: EndPages, EndBytes, EndFailed, EndTime (in seconds) or SetRate (requests a second). 0: no limit.
	Key   string  `json:"key,omitempty"`
	Value float64 `json:"value,omitempty"`
}

// The orders that nodes obey themselves.
const (
	OrderPause  = "pause"  // nothing more is claimed; requests under way end as usual
	OrderResume = "resume" // a pause ends; nodes may work again on a job that is over
	OrderDrain  = "drain"  // requests under way end, then the nodes; what is left stays queued
	OrderSet    = "set"    // a limit of the job has another value
	OrderGrow   = "grow"   // the job has Value shards, twice as many as before; [Grow] alone gives it
)

// SetRate is the Key of an order that changes Job.Rate.
const SetRate = "rate"

// Errors of [Give].
var (
	// ErrOver is wrapped by the error for an order to a job that is over: only OrderResume is possible then.
	ErrOver = errors.New("cluster: the job is over")
	// ErrFaster is wrapped by the error for an order that would allow more requests than the job does.
	ErrFaster = errors.New("cluster: an order cannot make a job faster than it was created")
	// ErrTooMany says that the orders of a job have reached their maximum size.
	ErrTooMany = errors.New("cluster: the job has no room for more orders")
)

// maxOrders limits the size of all orders of a job, in bytes: they are one value in the engine, which each node reads again and again.
const maxOrders = 512 << 10

// Give adds an order to a job and returns it with its number and time. Orders that are given at the same time all count, one after the
// other. The error is ErrOver, ErrFaster, ErrTooMany, ErrNoJob, wraps ErrValue and says what is wrong with the order, or is the engine's: then it is not
// known whether the order was added, and it can be given again.
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

// begin ends the job, or lets it continue, if that is the order.
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

// LoadOrders returns the orders of a job. It may be stale.
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

// Paused reports whether a job is paused by its orders.
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

// permits reports whether an order may set a value: a rate up to the job's, and more pages than are allowed now.
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

// settingOf returns the name of a limit, or an end by one, as settings have it.
func settingOf(key string) string { return strings.ReplaceAll(key, "_", "-") }

func limitText(limit int64) string {
	if limit == 0 {
		return "none"
	}
	return strconv.FormatInt(limit, 10)
}

// under returns the job with the limits that its orders have set. No order makes it faster, whoever has stored it.
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

// readOrders obeys the orders that are new. With decide, it reports whether this node knows all that were given until now: a value that
// was read may be stale, one that is stored again is not (E8).
func (n *Node) readOrders(ctx context.Context, decide bool) bool {
	all, rev, err := loadOrders(ctx, n.engine)
	if err == nil && decide {
		err = storeJSON(ctx, n.engine, registerOrders, all, rev)
	}
	if n.outgrown = n.outgrown || n.job.outgrown(all); err != nil || n.outgrown {
		return false // the next time
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
	for _, s := range shards { // one that is opened meanwhile has them before it begins
		s.follow(all)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.obeyed = len(all)
	return true
}

// pause begins a pause or ends it. The caller holds the lock.
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

// claiming returns a context for claims, which ends when a pause begins, and a channel that is closed when the pause ends; nil without
// one.
func (n *Node) claiming() (claims context.Context, resumed <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.claims, n.resumed
}

// current returns the job as its orders have it.
func (n *Node) current() Job {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.now
}

// Obey has f called for each order to the job, in order: for those that were given until now before Obey returns, so that a crawl which
// calls it before it begins requests nothing that they forbid, and for later ones as they come. f must be quick. Its calls do not
// overlap. Pauses, ends and limits of the job are not the crawl's concern: the shard sees to them.
func (s *Shard) Obey(f func(o Order)) {
	s.obeying.Lock()
	s.obey = f
	s.obeying.Unlock()
	s.node.mu.Lock()
	all := s.node.orders
	s.node.mu.Unlock()
	s.follow(all)
}

// follow passes the orders to the crawl that it does not have yet.
func (s *Shard) follow(all []Order) {
	s.obeying.Lock()
	defer s.obeying.Unlock()
	for s.obey != nil && s.obeyed < len(all) {
		s.obey(all[s.obeyed])
		s.obeyed++
	}
}
