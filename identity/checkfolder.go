package identity

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"regexp"
	"strings"
	"time"
)

// Check checks this identity as published, with get. If get is nil, it checks the public folder as if that were published now. names may be
// nil.
func (f *Folder) Check(ctx context.Context, get Get, names Resolver, now time.Time) (*Report, error) {
	p := f.Profile()
	c := CheckConfig{Get: get, Resolve: names, Now: now, Profile: &p}
	if k, err := f.Key(now); err == nil {
		c.KeyID = k.id
	}
	folder := os.DirFS(f.PublicDir())
	if get == nil {
		c.Get = folderGet(folder, p.Origin())
	}
	r, err := Check(ctx, p.Page, c)
	if err != nil || get != nil {
		return r, err
	}
	secrets, err := findSecrets(folder)
	r.Defects = append(secrets, r.Defects...)
	return r, err
}

// folderGet returns a Get that reads a public folder as a static host serves it, with the header fields of _headers, and without a network.
// The folder is the root of origin, such as "https://host".
func folderGet(public fs.FS, origin string) Get {
	return func(_ context.Context, at string) (*Response, error) {
		u, err := url.Parse(at)
		if err != nil || u.Scheme+"://"+u.Host != origin {
			return nil, fmt.Errorf("identity: %s is not in the folder for %s", printable(at), origin)
		}
		header, err := folderHeader(public, u.Path)
		if err != nil {
			return nil, err
		}
		name := strings.Trim(path.Clean("/"+u.Path), "/")
		if name == "" {
			name = "."
		}
		if info, err := fs.Stat(public, name); err == nil && info.IsDir() {
			if !strings.HasSuffix(u.Path, "/") {
				return &Response{Status: http.StatusMovedPermanently, Header: http.Header{"Location": {u.Path + "/"}}}, nil
			}
			name = path.Join(name, "index.html")
		}
		body, err := readBounded(public, name)
		if errors.Is(err, fs.ErrNotExist) {
			return &Response{Status: http.StatusNotFound, Header: http.Header{}}, nil
		}
		return &Response{Status: http.StatusOK, Header: header, Body: body}, err
	}
}

// maxFile limits the bytes read of one file.
const maxFile = 2 << 20

func readBounded(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// folderHeader returns the header fields that _headers sets for a path. Without that file, responses have no type, as on a host that knows
// no type for files without an extension.
func folderHeader(public fs.FS, at string) (http.Header, error) {
	h := http.Header{}
	b, err := readBounded(public, headersName)
	if errors.Is(err, fs.ErrNotExist) {
		return h, nil
	}
	if err != nil {
		return nil, err
	}
	mine := false
	for line := range strings.SplitSeq(string(b), "\n") {
		if !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "\t") {
			mine = strings.TrimSpace(line) == at
			continue
		}
		if name, value, ok := strings.Cut(line, ":"); ok && mine {
			h.Add(strings.TrimSpace(name), strings.TrimSpace(value))
		}
	}
	return h, nil
}

// secretText matches parts of private keys: PEM blocks, and the private member of a JWK.
var secretText = regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----|"kty"[^{}]*"d"\s*:\s*"|"d"\s*:\s*"[^"]*"[^{}]*"kty"`)

// maxFolderFiles limits the number of files of a folder that are searched.
const maxFolderFiles = 10000

// findSecrets reports each file of a folder that contains a private key. It reads the first 2 MiB of each file, and returns an error for a
// folder with more than 10,000 files.
func findSecrets(public fs.FS) ([]Defect, error) {
	var found []Defect
	files := 0
	err := fs.WalkDir(public, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !d.Type().IsRegular() {
			return err
		}
		if files++; files > maxFolderFiles {
			return fmt.Errorf("identity: more than %d files: this is not a public folder", maxFolderFiles)
		}
		b, err := readBounded(public, name)
		if err != nil {
			return err
		}
		if secretText.Match(b) || bytes.Contains(b, []byte("OPENSSH PRIVATE KEY")) {
			found = append(found, Defect{
				Must: true, Where: printable(name), What: "the file holds a PRIVATE KEY",
				Fix: "Take it out; if it was uploaded, rotate with the key marked as compromised",
			})
		}
		return nil
	})
	return found, err
}
