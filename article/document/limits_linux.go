package document

import "golang.org/x/sys/unix"

// limitProcess limits the memory, processor time and open files of this process. It also prevents the process from starting others.
func limitProcess(memory, seconds int64) error {
	for resource, limit := range map[int]uint64{
		unix.RLIMIT_DATA: uint64(memory), unix.RLIMIT_CPU: uint64(seconds) * 2, unix.RLIMIT_NOFILE: 16, unix.RLIMIT_FSIZE: 1 << 30, unix.RLIMIT_CORE: 0,
	} {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return err
		}
	}
	return nil
}
