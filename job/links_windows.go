package job

import "io/fs"

// links is how many names a file has. Here it is not looked up.
func links(fs.FileInfo) uint64 { return 1 }
