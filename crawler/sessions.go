package crawler

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// Account is a login for some of the URLs of a crawl: see [Config.Accounts].
type Account struct {
	// Name identifies the Account in errors and details. It must be set, and unique among the Accounts.
	Name string
	// For reports whether a URL is requested with this Account's cookies. A URL belongs to the first Account whose For returns true. For
	// is called concurrently and must always return the same for a URL. nil: every URL.
	For func(u weburl.URL) bool
	// Login and LoggedOut are used for this Account's URLs, as Config.Login and Config.LoggedOut are for URLs without an Account. Login
	// must be set.
	Login     func(ctx context.Context, c *fetcher.Client) error
	LoggedOut func(v *Visit) bool
}

// defaultMaxLogins is the default of Config.MaxLogins.
const defaultMaxLogins = 3

// session is a login during a run, with the data to log in again.
type session struct {
	account Account
	fetcher Fetcher // sends the cookies of the session

	turn   chan struct{} // serves as a lock while logging in or reading serial; a channel, because a login can take long
	serial int           // number of logins after the first
}

// sessions holds the sessions of a run. The last one is for URLs without an Account.
type sessions struct {
	all []*session
	max Limit

	mu    sync.Mutex
	asked map[weburl.URL]int // number of repeated requests for a page; removed when its visit ends
}

// makeSessions creates the sessions and, if there are several, makes them wrap the crawl's Fetcher.
func (r *run) makeSessions() error {
	cfg := &r.cfg
	s := &sessions{asked: map[weburl.URL]int{}, max: cfg.MaxLogins}
	for _, a := range cfg.Accounts {
		fc := r.fetching()
		fc.Jar = fetcher.NewJar()
		f, err := fetcher.New(fc)
		if err != nil {
			return err
		}
		r.closers = append(r.closers, f.Close)
		s.all = append(s.all, &session{account: a, fetcher: f, turn: make(chan struct{}, 1)})
	}
	s.all = append(s.all, &session{account: Account{Login: cfg.Login, LoggedOut: cfg.LoggedOut}, fetcher: r.fetcher, turn: make(chan struct{}, 1)})
	if r.sessions = s; len(s.all) > 1 {
		r.fetcher = s
	}
	return nil
}

// of returns the session with which a URL is requested.
func (s *sessions) of(u weburl.URL) *session {
	for _, x := range s.all[:len(s.all)-1] {
		if x.account.For == nil || x.account.For(u) {
			return x
		}
	}
	return s.all[len(s.all)-1]
}

// Resolve implements Fetcher: addresses are the same for all sessions.
func (s *sessions) Resolve(ctx context.Context, u weburl.URL) (netip.Addr, error) {
	return s.all[len(s.all)-1].fetcher.Resolve(ctx, u)
}

// Fetch implements Fetcher. robots.txt and documents of terms are requested without the cookies of an Account.
func (s *sessions) Fetch(ctx context.Context, p politeness.Permit) (*fetcher.Page, error) {
	if why := p.Purpose(); why == politeness.Robots || why == politeness.Terms {
		return s.all[len(s.all)-1].fetcher.Fetch(ctx, p)
	}
	return s.inForce(ctx, p.URL()).fetcher.Fetch(ctx, p)
}

// CloseIdle implements Fetcher.
func (s *sessions) CloseIdle(host string) {
	for _, x := range s.all {
		x.fetcher.CloseIdle(host)
	}
}

// sessionKey is the context key of the session whose Login is being called.
type sessionKey struct{}

// inForce returns the session for a request: the one that is logging in, if ctx has one, or that of the URL.
func (s *sessions) inForce(ctx context.Context, u weburl.URL) *session {
	if x, ok := ctx.Value(sessionKey{}).(*session); ok {
		return x
	}
	return s.of(u)
}

// serial returns the serial number of the login with which u is requested. It waits while a login is in progress.
func (s *sessions) serial(u weburl.URL) int {
	x := s.of(u)
	if x.account.LoggedOut == nil {
		return 0
	}
	x.turn <- struct{}{}
	defer func() { <-x.turn }()
	return x.serial
}

// login logs in with each session, unless nothing is left to request.
func (r *run) login(ctx context.Context) error {
	if r.left() == 0 {
		return nil
	}
	for _, x := range r.sessions.all {
		if err := r.loginTo(ctx, x); err != nil {
			return err
		}
	}
	return nil
}

// loginTo calls the Login function of a session; requests are made with the session's cookies.
func (r *run) loginTo(ctx context.Context, x *session) error {
	if x.account.Login == nil {
		return nil
	}
	client := *r.client
	client.Fetcher, client.Answered = r.fetcher, r.loginAnswered
	client.Poster, _ = x.fetcher.(fetcher.Poster)
	if err := x.account.Login(context.WithValue(ctx, sessionKey{}, x), &client); err != nil {
		if name := x.account.Name; name != "" {
			return fmt.Errorf("crawler: Login of the account %q: %w", name, err)
		}
		return fmt.Errorf("crawler: Login: %w", err)
	}
	return nil
}

// loginAnswered counts a request of Config.Login. Only exchanges for robots.txt are archived: others may contain pages or
// credentials that are private to the account.
func (r *run) loginAnswered(ctx context.Context, a *fetcher.Answer) {
	r.requested(ctx, a)
}

// loggedOut reports whether the response shows that the session has ended. If so, it has ended the claim: it returned the page to the
// queue, after another login unless there was one since the request, or it ended the visit.
func (a *attempt) loggedOut(ctx context.Context, v *Visit) (is bool) {
	r, u := a.run, a.claim.URL
	x := r.sessions.of(u)
	if x.account.LoggedOut == nil {
		return false
	}
	v.describe(a.claim.Request, a.claim.Attempt)
	if isRedirect(v.Page.Status) {
		v.Location, _ = u.Resolve(v.Page.Header.Get("Location")) // a missing or invalid target gives a zero Location
	}
	is, err := callLoggedOut(x.account.LoggedOut, v)
	switch {
	case err != nil:
		v.Outcome, v.broken = Failed, err
		a.end(ctx, v, nil)
		return true
	case !is:
		r.sessions.forget(u)
		return false
	}
	again, err := a.logInAgain(ctx, x, u)
	switch {
	case err != nil && ctx.Err() == nil:
		r.fail(err)
		fallthrough
	case err != nil, again:
		r.output.archive(ctx, v.Page, "attempt")
		a.putBack(ctx, frontier.Again{}, nil)
	default:
		v.Outcome, v.Reason = Failed, ReasonLoggedOut
		v.Detail = fmt.Sprintf("the answer is one for visitors who have not logged in, after %d further logins or attempts", r.sessions.max)
		r.sessions.forget(u)
		a.end(ctx, v, nil)
	}
	return true
}

func callLoggedOut(f func(*Visit) bool, v *Visit) (is bool, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = &PanicError{"Config.LoggedOut", x, debug.Stack()}
		}
	}()
	return f(v), nil
}

// logInAgain ensures that there was a login since the attempt's request, and reports whether the page may be requested again. The worker
// and its claim are blocked during the login, so no other page of the host is requested in the meantime.
func (a *attempt) logInAgain(ctx context.Context, x *session, u weburl.URL) (again bool, err error) {
	if !a.run.sessions.ask(u) {
		return false, nil
	}
	x.turn <- struct{}{}
	defer func() { <-x.turn }()
	if x.serial > a.login { // another page has caused a login since this page was requested
		return true, nil
	}
	if x.account.Login == nil || a.run.sessions.max.Reached(x.serial) {
		return false, nil
	}
	if err := a.run.loginTo(ctx, x); err != nil {
		return false, err
	}
	x.serial++
	return true, nil
}

// ask counts a repeated request for a page. It reports false if MaxLogins is reached.
func (s *sessions) ask(u weburl.URL) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.max.Reached(s.asked[u]) {
		return false
	}
	s.asked[u]++
	return true
}

// forget removes the count of repeated requests for a page.
func (s *sessions) forget(u weburl.URL) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.asked, u)
}

// validateAccounts reports errors in Config.Accounts.
func (c *Config) validateAccounts() error {
	var errs []error
	var names []string
	for i, a := range c.Accounts {
		if a.Name == "" || slices.Contains(names, a.Name) {
			errs = append(errs, configError("Accounts[%d].Name is %q: must be set, and no other Account may have it", i, a.Name))
		}
		names = append(names, a.Name)
		if a.Login == nil {
			errs = append(errs, configError("Accounts[%d].Login is nil: must be set", i))
		}
	}
	if len(c.Accounts) > 0 && c.Fetcher != nil {
		errs = append(errs, configError("Accounts need cookies for each, which a Fetcher cannot be given: leave Fetcher out"))
	}
	return errors.Join(errs...)
}
