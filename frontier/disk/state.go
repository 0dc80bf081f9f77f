package disk

import "context"

// State implements frontier.Durable, for values of Settlements and SetState too. The error is
// frontier.ErrClosed, the context's or the disk's.
func (s *Store) State(ctx context.Context, name string) ([]byte, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	v, err := s.get([]byte(tagState + name))
	if err != nil {
		return nil, s.fail(err)
	}
	return v, nil
}

// States implements frontier.Durable. f must not close the Store. The error is f's, or as of State.
func (s *Store) States(ctx context.Context, prefix string, f func(name string, value []byte) error) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.leave()
	return s.scanPrefix([]byte(tagState+prefix), func(key, value []byte) (bool, error) {
		err := f(string(key[len(tagState):]), value)
		return err == nil, err
	})
}

// SetState stores values by name, all or none; a nil value removes its name. They are on disk when
// it returns. What belongs to a claim's end goes with it, in Commit or as Settlement.State. The error
// is ErrTooLarge, frontier.ErrClosed, the context's or the disk's.
func (s *Store) SetState(ctx context.Context, values map[string][]byte) error {
	o := &op{}
	if err := o.carry(nil, values); err != nil {
		return err
	}
	s.mu.Lock()
	if err := s.enter(ctx); err != nil {
		s.mu.Unlock()
		return err
	}
	return s.commit(o)
}

func (s *Store) begin(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.enter(ctx)
}
