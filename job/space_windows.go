package job

import "golang.org/x/sys/windows"

// diskOf returns the bytes of the disk with this directory: available to this user, and in total.
func diskOf(dir string) (free, all int64, err error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, 0, err
	}
	var mine, total, any uint64
	if err := windows.GetDiskFreeSpaceEx(name, &mine, &total, &any); err != nil {
		return 0, 0, err
	}
	return int64(mine), int64(total), nil
}
