// Package stores stores finished files as objects: in a directory, such as a mounted disk ([Dir]), or in a bucket (package stores/s3).
// Package stores/open opens the store that a URL names.
//
// Objects are written atomically, and checked against the SHA-256 that the caller gives. Writing under an existing name replaces the
// object, so a Put with an unknown outcome can be repeated.
package stores

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"iter"
)

// Object describes an object in a store.
type Object struct {
	Name   string   // elements are separated by slashes: see [CheckName]
	Size   int64    // bytes
	SHA256 [32]byte // hash of the content; zero if the store does not know it
}

// Store stores objects by name. Its methods may be called concurrently. Their errors wrap [fs.ErrNotExist] if there is no such object,
// [ErrAway] if the same call may succeed later, [ErrDiffers] if content is not as described. Other errors are permanent until they are
// fixed, such as a missing bucket or permission.
type Store interface {
	// Put stores o.Size bytes of body, read from its beginning, once or several times. It returns nil only if the object is stored. After
	// an error the name has the previous object or the new one.
	Put(ctx context.Context, o Object, body io.ReadSeeker) error
	// Get reads length bytes of an object from an offset, or all following bytes if length is negative. If there are fewer than length
	// bytes, or the offset is after the end of the object, the reader returns an error such as [io.ErrUnexpectedEOF]. The caller must
	// close the reader.
	Get(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error)
	// Stat describes an object. It includes the SHA-256 unless the store cannot know it.
	Stat(ctx context.Context, name string) (Object, error)
	// List returns the objects whose names begin with prefix, in no particular order, without their hashes. It ends after an error.
	List(ctx context.Context, prefix string) iter.Seq2[Object, error]
	// Delete removes an object. A missing object is not an error.
	Delete(ctx context.Context, name string) error
}

// ErrAway is wrapped by errors of a store that is unreachable or too busy at present.
var ErrAway = errors.New("stores: the store cannot be reached at present")

// ErrDiffers is wrapped by the error for content whose length or SHA-256 differs from the description.
var ErrDiffers = errors.New("stores: the content differs from its description")

// CheckName returns an error for an invalid name of an object. Elements are separated by slashes; none is empty, "." or "..". The maximum
// is 900 bytes.
func CheckName(name string) error {
	if !fs.ValidPath(name) || name == "." || len(name) > 900 {
		return fmt.Errorf("stores: %q is not a name of an object: %w", name, fs.ErrInvalid)
	}
	return nil
}

// CheckContent reads a body from its beginning, and returns an error that wraps [ErrDiffers] if it differs from o. Afterwards the body is
// at its beginning again. It also writes all content to the other hashes. It is for implementations of Store.
func CheckContent(o Object, body io.ReadSeeker, other ...hash.Hash) error {
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("stores: %w", err)
	}
	h := sha256.New()
	w := []io.Writer{h}
	for _, o := range other {
		w = append(w, o)
	}
	n, err := io.Copy(io.MultiWriter(w...), body)
	if err != nil {
		return fmt.Errorf("stores: read what is to be stored as %s: %w", o.Name, err)
	}
	if err := o.compare(n, h); err != nil {
		return err
	}
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("stores: %w", err)
	}
	return nil
}

// compare returns an error that wraps [ErrDiffers] if content of n bytes with the SHA-256 of h differs from o.
func (o *Object) compare(n int64, h hash.Hash) error {
	if sum := [32]byte(h.Sum(nil)); n != o.Size || sum != o.SHA256 {
		return fmt.Errorf("%w: %s has %d bytes with the SHA-256 %x, want %d bytes with %x", ErrDiffers, o.Name, n, sum, o.Size, o.SHA256)
	}
	return nil
}
