package items

import "io"

// OnStep makes s call f after each change of the directory, and write through disk.
func (s *Shards[T]) OnStep(f func(), disk func(io.Writer) io.Writer) { s.step, s.disk = f, disk }
