// Package s3 stores objects in a bucket of Amazon S3, or of another server with its protocol. It implements [stores.Store].
//
// Credentials and the server's location come from the variables and files that other S3 programs use:
//
//   - AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or else the profile AWS_PROFILE in ~/.aws/credentials and
//     ~/.aws/config (AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE), with credential_process and sessions of a single sign-on;
//   - AWS_REGION or AWS_DEFAULT_REGION, or else region of the profile;
//   - AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL, or else endpoint_url of the profile; otherwise Amazon's.
//
// Without keys requests are anonymous. The package uses no services of the machine, such as instance metadata.
package s3

import (
	"cmp"
	"context"
	"crypto/md5" //nolint:gosec // Content-MD5 is what every server checks; SHA-256 is what counts
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"gopkg.in/ini.v1"

	"github.com/amble-crawler/amble/stores"
)

// maxObject is the maximum size in bytes of an object that one request can store.
const maxObject = 5 << 30

// tries is the maximum number of attempts of a request that fails because the server is unreachable or busy, within some seconds.
const tries = 4

// Store is a part of a bucket: the objects whose names begin with a prefix.
type Store struct {
	core   *minio.Core
	bucket string
	prefix string // "" or ends with a slash
}

// Open returns the store for a URL such as s3://bucket/prefix. It makes no requests: the first method call shows whether the bucket
// exists.
func Open(name string) (*Store, error) {
	u, err := url.Parse(name)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("s3: want s3://BUCKET/PREFIX, and nothing else in the URL: keys, region and endpoint are read from the variables and files of AWS")
	}
	prefix := strings.Trim(u.Path, "/")
	if prefix != "" {
		if err := stores.CheckName(prefix); err != nil {
			return nil, err
		}
		prefix += "/"
	}
	p := profile()
	at := cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), p.Key("endpoint_url").String(), "https://s3.amazonaws.com")
	end, err := url.Parse(at)
	if err != nil || end.Host == "" || end.Scheme != "http" && end.Scheme != "https" || strings.Trim(end.Path, "/") != "" {
		return nil, fmt.Errorf("s3: endpoint %q (AWS_ENDPOINT_URL): want a URL such as https://s3.example.net", at)
	}
	core, err := minio.NewCore(end.Host, &minio.Options{
		Creds:      credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}}),
		Secure:     end.Scheme == "https",
		Region:     cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), p.Key("region").String()),
		MaxRetries: tries,
	})
	if err != nil {
		return nil, fmt.Errorf("s3: %w", err)
	}
	return &Store{core: core, bucket: u.Host, prefix: prefix}, nil
}

// profile returns the active section of AWS's configuration file, an empty one if there is none.
func profile() *ini.Section {
	file := os.Getenv("AWS_CONFIG_FILE")
	if home, err := os.UserHomeDir(); file == "" && err == nil {
		file = filepath.Join(home, ".aws", "config")
	}
	name := cmp.Or(os.Getenv("AWS_PROFILE"), "default")
	if f, err := ini.LooseLoad(file); err == nil {
		for _, section := range []string{"profile " + name, name} {
			if s, err := f.GetSection(section); err == nil {
				return s
			}
		}
	}
	return ini.Empty().Section("")
}

// sumKey is the metadata with the SHA-256 of an object, in hexadecimal digits.
const sumKey = "Sha256"

// Put implements [stores.Store]. It sends the object in one request, so that a killed process leaves no part of it, with its SHA-256 and
// its MD5, which the server checks. The maximum is 5 GiB. It reads the body twice.
func (s *Store) Put(ctx context.Context, o stores.Object, body io.ReadSeeker) error {
	if err := stores.CheckName(o.Name); err != nil {
		return err
	}
	if o.Size > maxObject {
		return fmt.Errorf("s3: %s has %d bytes: %d are the most that one request can store", o.Name, o.Size, int64(maxObject))
	}
	sum := md5.New() //nolint:gosec // every server checks it
	if err := stores.CheckContent(o, body, sum); err != nil {
		return err
	}
	hexSum := hex.EncodeToString(o.SHA256[:])
	_, err := s.core.PutObject(ctx, s.bucket, s.prefix+o.Name, notClosed{body}, o.Size, base64.StdEncoding.EncodeToString(sum.Sum(nil)), hexSum,
		minio.PutObjectOptions{UserMetadata: map[string]string{sumKey: hexSum}, DisableContentSha256: true})
	if err != nil {
		return s.told(ctx, "store", o.Name, err)
	}
	got, err := s.Stat(ctx, o.Name)
	if err == nil && got != o {
		err = fmt.Errorf("%w, and %w: %s has %d bytes after %d were stored", stores.ErrAway, stores.ErrDiffers, o.Name, got.Size, o.Size)
	}
	return err
}

// notClosed prevents the client from closing the body.
type notClosed struct{ io.ReadSeeker }

// Get implements [stores.Store].
func (s *Store) Get(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	if err := stores.CheckName(name); err != nil {
		return nil, err
	}
	if length == 0 { // HTTP has no empty ranges
		if o, err := s.Stat(ctx, name); err != nil || offset <= o.Size {
			return http.NoBody, err
		}
	}
	var opts minio.GetObjectOptions
	switch {
	case length > 0:
		opts.Set("Range", fmt.Sprintf("bytes=%d-%d", offset, offset+length-1))
	case offset > 0:
		opts.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	r, info, _, err := s.core.GetObject(ctx, s.bucket, s.prefix+name, opts)
	if minio.ToErrorResponse(err).Code == minio.InvalidRange && length < 0 { // S3 rejects an offset equal to the size, which is valid here
		if o, err := s.Stat(ctx, name); err != nil || offset == o.Size {
			return http.NoBody, err
		}
	}
	if minio.ToErrorResponse(err).Code == minio.InvalidRange {
		return nil, fmt.Errorf("s3: %s ends before byte %d: %w", s.URL(name), offset, io.ErrUnexpectedEOF)
	}
	if err != nil {
		return nil, s.told(ctx, "read", name, err)
	}
	if length < 0 {
		length = info.Size // Size is that of the response, not of the object
	}
	return &body{s: s, ctx: ctx, name: name, in: r, left: length}, nil
}

// body reads a response and checks its length.
type body struct {
	s    *Store
	ctx  context.Context
	name string
	in   io.ReadCloser
	left int64
}

func (b *body) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	n, err := b.in.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	switch {
	case err == nil || errors.Is(err, io.EOF) && b.left == 0:
		return n, nil
	case errors.Is(err, io.EOF):
		return n, fmt.Errorf("s3: %s ended %d bytes early: %w", b.s.URL(b.name), b.left, io.ErrUnexpectedEOF)
	}
	return n, b.s.told(b.ctx, "read", b.name, err)
}

func (b *body) Close() error { return b.in.Close() }

// Stat implements [stores.Store]. It returns the SHA-256 that Put stored with the object.
func (s *Store) Stat(ctx context.Context, name string) (stores.Object, error) {
	if err := stores.CheckName(name); err != nil {
		return stores.Object{}, err
	}
	info, err := s.core.StatObject(ctx, s.bucket, s.prefix+name, minio.StatObjectOptions{})
	if err != nil {
		return stores.Object{}, s.told(ctx, "read", name, err)
	}
	o := stores.Object{Name: name, Size: info.Size}
	if sum, err := hex.DecodeString(info.UserMetadata[sumKey]); err == nil && len(sum) == len(o.SHA256) {
		o.SHA256 = [32]byte(sum)
	}
	return o, nil
}

// List implements [stores.Store].
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[stores.Object, error] {
	return func(yield func(stores.Object, error) bool) {
		for info := range s.core.ListObjectsIter(ctx, s.bucket, minio.ListObjectsOptions{Prefix: s.prefix + prefix, Recursive: true}) {
			if info.Err != nil {
				yield(stores.Object{}, s.told(ctx, "list", prefix, info.Err))
				return
			}
			o := stores.Object{Name: strings.TrimPrefix(info.Key, s.prefix), Size: info.Size}
			if stores.CheckName(o.Name) == nil && !yield(o, nil) { // skip other names, such as a folder made by another program
				return
			}
		}
		if ctx.Err() != nil { // the client ended its list without an error
			yield(stores.Object{}, s.told(ctx, "list", prefix, ctx.Err()))
		}
	}
}

// Delete implements [stores.Store]. In a bucket with versioning the object stays as a version.
func (s *Store) Delete(ctx context.Context, name string) error {
	if err := stores.CheckName(name); err != nil {
		return err
	}
	err := s.core.RemoveObject(ctx, s.bucket, s.prefix+name, minio.RemoveObjectOptions{})
	if err = s.told(ctx, "remove", name, err); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err
}

// Versioned reports whether the bucket keeps versions of objects that are replaced or removed.
func (s *Store) Versioned(ctx context.Context) (bool, error) {
	v, err := s.core.GetBucketVersioning(ctx, s.bucket)
	return v.Enabled(), s.told(ctx, "read", "", err)
}

// URL returns the URL of an object, for messages.
func (s *Store) URL(name string) string { return "s3://" + s.bucket + "/" + s.prefix + name }

// told returns err as an error of a store that describes the failed operation, with advice.
func (s *Store) told(ctx context.Context, what, name string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("s3: %s %s: %w", what, s.URL(name), ctx.Err())
	}
	r := minio.ToErrorResponse(err)
	kind, advice := error(nil), ""
	switch {
	case r.Code == minio.NoSuchKey:
		kind = fs.ErrNotExist
	case r.Code == minio.NoSuchBucket:
		advice = ": make the bucket first, or name another one"
	case r.StatusCode == http.StatusNotFound: // the response to a HEAD request has no body with a code
		kind = fs.ErrNotExist
	case r.Code == "RequestTimeTooSkewed":
		advice = ": set the clock of this machine"
	case r.Code == minio.AccessDenied || r.Code == "InvalidAccessKeyId" || r.Code == "SignatureDoesNotMatch" || r.StatusCode == http.StatusForbidden:
		advice = ": give the key the rights s3:PutObject, s3:GetObject, s3:ListBucket and s3:DeleteObject, or use another one (AWS_ACCESS_KEY_ID, AWS_PROFILE)"
	case r.StatusCode == 0 && r.Code == "", r.StatusCode >= 500, r.StatusCode == http.StatusTooManyRequests, r.StatusCode == http.StatusRequestTimeout,
		r.Code == "SlowDown", r.Code == "BadDigest", r.Code == "IncompleteBody", r.Code == "RequestTimeout", r.Code == "XAmzContentSHA256Mismatch":
		kind = stores.ErrAway
	}
	if kind == nil {
		return fmt.Errorf("s3: %s %s: %w%s", what, s.URL(name), err, advice)
	}
	return fmt.Errorf("s3: %s %s: %w (%w)", what, s.URL(name), kind, err)
}
