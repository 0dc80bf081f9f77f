//go:build unix

package job

import "golang.org/x/sys/unix"

// diskOf returns the bytes of the disk with this directory: available to this user, and in total.
func diskOf(dir string) (free, all int64, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, 0, err
	}
	block := int64(s.Bsize)                                      //nolint:unconvert // the type differs by system
	return int64(s.Bavail) * block, int64(s.Blocks) * block, nil //nolint:unconvert // these types differ, too
}
