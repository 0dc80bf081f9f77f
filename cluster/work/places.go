package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/stores"
	"github.com/amble-crawler/amble/stores/open"
)

// places holds the locations of the files of a job's nodes.
type places struct {
	files   map[string]job.NodeFiles // keyed by node name
	leftOut []string
	stores  []stores.Store
}

// open finds the nodes in all directories and stores.
func (c *Collecting) open(ctx context.Context, j *Job) (*places, error) {
	p := &places{files: map[string]job.NodeFiles{}}
	for _, name := range c.Nodes {
		var err error
		if open.IsURL(name) {
			err = p.addStore(ctx, j, name)
		} else {
			err = p.addDir(j, name)
		}
		if err != nil {
			p.close()
			return nil, err
		}
	}
	if len(c.Nodes) > 0 && len(p.files) == 0 {
		p.close()
		what := "is no directory of a node, which has a " + job.NodeName
		if open.IsURL(c.Nodes[0]) {
			what = "holds nothing of a node of the job"
		}
		return nil, &job.Error{Kind: job.Refused, Err: fmt.Errorf("%s %s, and neither is any other that is named", c.Nodes[0], what)}
	}
	return p, nil
}

func (p *places) close() {
	for _, s := range p.stores {
		_ = open.Close(s) // nothing was written to the store
	}
}

// addDir adds the directory of a node. Other files and directories, such as a log or a job directory with a similar name, are left out.
func (p *places) addDir(j *Job, dir string) error {
	info, err := os.Stat(dir)
	if err == nil && info.Mode().IsRegular() {
		p.leftOut = append(p.leftOut, dir)
		return nil
	}
	there := err == nil
	m, err := readMark(dir)
	switch {
	case errors.Is(err, os.ErrNotExist) && there:
		p.leftOut = append(p.leftOut, dir)
		return nil
	case errors.Is(err, os.ErrNotExist):
		return &job.Error{Kind: job.Refused, Err: fmt.Errorf("%s is not there: name the directories of the nodes", dir)}
	case err != nil:
		return err
	case m.Job != j.id():
		return &job.Error{Kind: job.Refused, Err: fmt.Errorf("%s is of another job", dir)}
	}
	n := p.files[m.Node]
	if n.Dir != "" {
		return &job.Error{Kind: job.Refused, Err: fmt.Errorf("%s and %s are both of node %s: leave out the copy", n.Dir, dir, m.Node)}
	}
	n.Dir = dir
	p.files[m.Node] = n
	return nil
}

// addStore adds the job's nodes that are found in a store. Nodes of other jobs are left out.
func (p *places) addStore(ctx context.Context, j *Job, url string) error {
	s, err := open.URL(url)
	if err != nil {
		return &job.Error{Kind: job.Refused, Err: fmt.Errorf("%s: %w", url, err)}
	}
	p.stores = append(p.stores, s)
	nodes, err := job.FindNodes(ctx, s, url)
	if err != nil {
		return err
	}
	for _, x := range nodes {
		var m mark
		if json.Unmarshal(x.Mark, &m) != nil || m.Schema != markSchema || m.Job != j.id() {
			p.leftOut = append(p.leftOut, x.Name())
			continue
		}
		n := p.files[m.Node]
		n.Stored = append(n.Stored, x)
		p.files[m.Node] = n
	}
	return nil
}
