package politeness

import "errors"

// both is the result of [Both].
type both struct{ first, second Sharing }

// Both returns a Sharing that combines two, such as those of a machine and of a cluster. A turn requires a turn of each.
// It takes robots.txt files from first, or else from second.
func Both(first, second Sharing) Sharing { return both{first, second} }

// Take implements Sharing.
func (b both) Take(t *Turn) error {
	if !t.Quiet.IsZero() {
		return sooner(b.first.Take(t), b.second.Take(t))
	}
	if err := b.first.Take(t); err != nil {
		return err
	}
	waited, until, held := t.Waited, t.Until, t.Held
	if err := b.second.Take(t); err != nil {
		b.first.Done(t, Owed{})
		return err
	}
	if waited.Until.After(t.Waited.Until) {
		t.Waited = waited
	}
	if held != nil && t.Held == nil { // if first cannot be lost, second's Held is used
		t.Held = held
	}
	if t.Until.IsZero() || !until.IsZero() && until.Before(t.Until) {
		t.Until = until
	}
	return nil
}

// sooner returns the error with the earlier time to try again.
func sooner(first, second error) error {
	var x, y *NotYet
	if errors.As(first, &x) && errors.As(second, &y) && x.Until.Before(y.Until) {
		return first
	}
	return second
}

// Done implements Sharing.
func (b both) Done(t *Turn, owed Owed) {
	b.second.Done(t, owed)
	b.first.Done(t, owed)
}

// Leave implements Sharing.
func (b both) Leave(gate string) {
	b.second.Leave(gate)
	b.first.Leave(gate)
}

// Robots implements Sharing.
func (b both) Robots(key RobotsKey) (RobotsFile, bool) {
	f, ok := b.first.Robots(key)
	if ok {
		return f, true
	}
	g, ok := b.second.Robots(key)
	if !ok && f.Fetched.After(g.Fetched) {
		g = f
	}
	return g, ok
}

// KeepRobots implements Sharing.
func (b both) KeepRobots(key RobotsKey, f RobotsFile) {
	b.first.KeepRobots(key, f)
	b.second.KeepRobots(key, f)
}

// Unwrap returns first.
func (b both) Unwrap() Sharing { return b.first }
