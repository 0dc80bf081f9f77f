package job

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/amble-crawler/amble/stores"
)

// storedFiles is a store with files of a directory, and the list of these files.
type storedFiles struct {
	files    jobFiles
	store    stores.Store
	note     func(string)        // sends a message to the operator
	keepList func(*stored) error // writes the list to the directory

	busy sync.Mutex // held while the store is written to

	mu   sync.Mutex
	list *stored // objects in the store
	said string  // last message to the operator
}

// probeName is the name of the object that tests the permissions.
const probeName = "probe"

// probe verifies that objects can be written and removed.
func (s *storedFiles) probe(ctx context.Context, content string) error {
	if err := putBytes(ctx, s.store, probeName, []byte(content)); err != nil {
		return err
	}
	return s.store.Delete(ctx, probeName)
}

// putList stores the list of objects.
func (s *storedFiles) putList(ctx context.Context, list *stored) error {
	public := *list
	public.Store, public.Place, public.From = "", "", ""
	return putBytes(ctx, s.store, storedName, public.encode())
}

// known returns the list of objects, for callers that do not hold busy. A list is never modified once it is set.
func (s *storedFiles) known() *stored {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list
}

// say sends a message about the store to the operator, unless it repeats the last one.
func (s *storedFiles) say(text string) {
	s.mu.Lock()
	was := s.said
	s.said = text
	s.mu.Unlock()
	switch {
	case text == was:
	case text == "":
		s.note("the store can be written to again")
	case was == "":
		s.note(text)
	}
}

// put stores files, and then the list, which includes the files before an error. For files in facts the hash is known: a different hash
// means that the file is damaged.
func (s *storedFiles) put(ctx context.Context, names []string, facts map[string]FileFact) error {
	var done []storedObject
	var failed error
	for _, name := range names {
		fact, known := facts[name]
		if !known {
			if fact, failed = s.files.factOf(name); failed != nil {
				break
			}
		}
		if was, ok := s.list.find(name); ok && was == fact {
			continue
		}
		o := storedObject{name, fact}
		if failed = s.putFile(ctx, o); failed != nil {
			break
		}
		done = append(done, o)
	}
	if len(done) == 0 {
		return failed
	}
	list := s.list.with(done...)
	if err := s.putList(ctx, list); err != nil {
		return errors.Join(failed, err)
	}
	if err := s.keepList(list); err != nil {
		return errors.Join(failed, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = list
	return failed
}

func (s *storedFiles) putFile(ctx context.Context, o storedObject) error {
	f, err := s.files.file(o.Name, 0)
	if err != nil {
		return err
	}
	err = errors.Join(s.store.Put(ctx, o.object(), f), f.Close())
	if errors.Is(err, stores.ErrDiffers) && !errors.Is(err, stores.ErrAway) {
		err = fmt.Errorf("%s is damaged, or was changed, and is not stored: %w", s.files.path(o.Name), err)
	}
	return err
}
