package job

import "io/fs"

// links returns how many names a file has. On Windows this is not looked up.
func links(fs.FileInfo) uint64 { return 1 }
