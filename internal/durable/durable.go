// Package durable makes what was written survive a failure of power.
package durable

import (
	"errors"
	"os"
	"runtime"
)

// Dir makes the names in a directory durable where the system supports it.
func Dir(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
