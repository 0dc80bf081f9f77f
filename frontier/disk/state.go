package disk

import "context"

// State is a value that a Settlement or SetState has stored, nil if there is none of that name. The
// error is frontier.ErrClosed, the context's or the disk's.
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

// States calls f with each stored value whose name begins so, in the order of names, until f returns
// an error, which is returned. The value is valid until f returns. f must not close the Store.
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
// it returns. What belongs to a Settle goes with it, as Settlement.State.
func (s *Store) SetState(ctx context.Context, values map[string][]byte) error {
	s.mu.Lock()
	if err := s.enter(ctx); err != nil {
		s.mu.Unlock()
		return err
	}
	return s.commit(&op{state: values})
}

func (s *Store) begin(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.enter(ctx)
}
