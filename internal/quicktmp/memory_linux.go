package quicktmp

import "syscall"

const (
	shm   = "/dev/shm"
	least = 4 << 30   // minimum of free bytes: containers often have 64 MiB, too few for tests of large files
	tmpfs = 0x1021994 // TMPFS_MAGIC of statfs(2)
	write = 2         // W_OK of access(2)
)

// memory returns a directory in memory, or "" if there is none with enough space.
func memory() string {
	var s syscall.Statfs_t
	if syscall.Statfs(shm, &s) != nil || s.Type != tmpfs || s.Bavail*uint64(s.Bsize) < least || syscall.Access(shm, write) != nil {
		return ""
	}
	return shm
}
