package work

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/job"
)

// program calls set, which adds values to j.Config that settings cannot express, and returns an error if set changes a setting or a value
// that the job needs is missing. All nodes have the same settings, whatever their programs.
func (j *Job) program(set func(*job.Config)) error {
	if set != nil {
		before, err := j.Config.File(j.Seeds)
		if err != nil {
			return err
		}
		set(&j.Config)
		after, err := j.Config.File(j.Seeds)
		if err != nil {
			return err
		}
		if !bytes.Equal(before, after) {
			return refuseProgram("the program of this node changes settings, which are those of the job: have it set only what no setting can say")
		}
	}
	if err := checkItems(&j.Config); err != nil {
		return err
	}
	is := j.Config.Program()
	lost := slices.DeleteFunc(slices.Clone(j.Program), func(field string) bool { return slices.Contains(is, field) })
	if len(lost) > 0 {
		return refuseProgram("the job was made by a program that sets %s, which no setting can say: work on it with that program", strings.Join(lost, ", "))
	}
	return nil
}

// checkItems returns an error if the settings contain Items, files of results: a node has no such files that could be collected.
func checkItems(c *job.Config) error {
	if len(c.Items) == 0 {
		return nil
	}
	return &job.Error{Kind: job.Refused, Err: errors.New("files of results (Items) belong to one process: on a cluster, let a Handler or a Sink store the results")}
}

// refuseProgram returns the error of a node whose program does not match the job's.
func refuseProgram(format string, values ...any) error {
	return &job.Error{Kind: job.Refused, Err: fmt.Errorf("%w: "+format, append([]any{job.ErrProgram}, values...)...)}
}
