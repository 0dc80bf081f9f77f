// Package stores keeps finished files as objects somewhere else: in a directory, such as a mounted disk ([Dir]), or in a bucket
// (package stores/s3). Package stores/open opens the store that a URL names.
//
// An object is written whole or not at all, and is what the caller said that it is: the SHA-256 is checked on the way. What is written
// under a name replaces what was there, so whoever does not know whether a Put succeeded may repeat it.
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

// Object is what a store knows of an object.
type Object struct {
	Name   string   // slashes separate its elements: see [CheckName]
	Size   int64    // bytes
	SHA256 [32]byte // of the content; zero if the store does not know it
}

// Store keeps objects by name. Its methods may be called concurrently. Their errors wrap [fs.ErrNotExist] if there is no such object,
// [ErrAway] if the same call may succeed later, [ErrDiffers] if content is not what it should be; other errors are permanent until
// somebody changes something, such as a missing bucket or a missing right.
type Store interface {
	// Put stores o.Size bytes of body, read from its beginning, once or several times. It returns nil only if the object is stored.
	// After an error the object is the one that was there before, or the new one.
	Put(ctx context.Context, o Object, body io.ReadSeeker) error
	// Get reads length bytes of an object from an offset, or all that follow if length is negative. Less than length bytes are an
	// error of the reader, as [io.ErrUnexpectedEOF], and so is an offset after the end of the object. The caller closes the reader.
	Get(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error)
	// Stat describes an object, with its SHA-256 unless the store cannot know it.
	Stat(ctx context.Context, name string) (Object, error)
	// List returns the objects whose names begin with prefix, in no particular order, without their hashes. It ends after an error.
	List(ctx context.Context, prefix string) iter.Seq2[Object, error]
	// Delete removes an object. It is no error if there is none.
	Delete(ctx context.Context, name string) error
}

// ErrAway is wrapped by errors of a store that cannot be reached, or that is too busy, at present.
var ErrAway = errors.New("stores: the store cannot be reached at present")

// ErrDiffers is wrapped by the error for content whose length or SHA-256 is not the one that was said.
var ErrDiffers = errors.New("stores: the content is not what was said")

// CheckName returns an error for a name that is not the name of an object: elements are separated by slashes, none is empty, "." or
// "..", and at most 900 bytes are possible.
func CheckName(name string) error {
	if !fs.ValidPath(name) || name == "." || len(name) > 900 {
		return fmt.Errorf("stores: %q is not a name of an object: %w", name, fs.ErrInvalid)
	}
	return nil
}

// CheckContent reads a body from its beginning, and returns an error that wraps [ErrDiffers] if it is not what o says. The body is at
// its beginning afterwards. All content is written to other hashes, too. For implementations of Store.
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

// compare returns an error that wraps [ErrDiffers] if content of n bytes with the SHA-256 of h is not what o says.
func (o *Object) compare(n int64, h hash.Hash) error {
	if sum := [32]byte(h.Sum(nil)); n != o.Size || sum != o.SHA256 {
		return fmt.Errorf("%w: %s has %d bytes with the SHA-256 %x, want %d bytes with %x", ErrDiffers, o.Name, n, sum, o.Size, o.SHA256)
	}
	return nil
}
