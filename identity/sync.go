package identity

import (
	"errors"
	"os"
	"runtime"
)

// syncDir makes the names in a directory durable, where the system can.
func syncDir(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
