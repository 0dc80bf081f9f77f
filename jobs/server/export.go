package server

import (
	"archive/zip"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export"
	"github.com/amble-crawler/amble/jobs"
)

func (s *Server) export(w *recorder, r *call) error {
	to := r.URL.Query().Get("to")
	at := slices.IndexFunc(s.config.Kinds, func(k export.Kind) bool { return k.Name == to })
	if at < 0 {
		return badQuery("to: want one of %s", strings.Join(kindNames(s.config.Kinds), ", "))
	}
	kind := s.config.Kinds[at]
	info, err := s.named(w, r)
	if err != nil {
		return err
	}
	if !r.client.enter() {
		return errStreams
	}
	defer r.client.leave()
	path, err := s.write(r, info, kind)
	if path != "" {
		defer func() { _ = os.RemoveAll(filepath.Dir(path)) }() // if this fails, the next jobs.Open removes the directory
	}
	if err != nil {
		return err
	}
	name := info.ID + kind.Suffix
	if kind.Dir {
		name += ".zip"
	}
	w.Header().Set("Content-Type", mediaBytes)
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	if kind.Dir {
		return zipTo(streamTo(w), path)
	}
	f, err := safefile.Open(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(streamTo(w), f)
	return errors.Join(err, f.Close())
}

// write writes an export into a new directory beside the jobs, and returns its path. Few are written at a time.
func (s *Server) write(r *call, info jobs.Info, kind export.Kind) (path string, err error) {
	select {
	case s.exports <- struct{}{}:
		defer func() { <-s.exports }()
	case <-r.Context().Done():
		return "", r.Context().Err()
	}
	from, err := job.Read(info.Dir)
	if errors.Is(err, job.ErrNoJob) || errors.Is(err, os.ErrNotExist) {
		return "", &problemError{Status: http.StatusConflict, Title: "the job has not begun", Detail: "wait until it has run"}
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = from.Close() }() // only read, so an error of closing loses nothing
	dir, err := s.manager.Temp()
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "export")
	_, err = export.Write(r.Context(), from, kind, path, nil)
	var of *job.Error
	if errors.As(err, &of) && of.Kind == job.Refused { // clients know the job by its ID, and nothing about directories
		err = &problemError{Status: http.StatusConflict, Title: "the job cannot be exported in this form", Detail: strings.ReplaceAll(of.Error(), info.Dir, info.ID)}
	}
	return path, err
}

// zipTo writes the files of a directory to a zip file.
func zipTo(w io.Writer, dir string) error {
	z := zip.NewWriter(w)
	if err := z.AddFS(os.DirFS(dir)); err != nil {
		return err
	}
	return z.Close()
}

func kindNames(kinds []export.Kind) (names []string) {
	for _, k := range kinds {
		names = append(names, k.Name)
	}
	return names
}
