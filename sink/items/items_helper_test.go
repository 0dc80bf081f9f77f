package items

import "io"

// OnStep makes s call f after each change of the directory, and pass each file through disk before writing to it.
func (s *Shards[T]) OnStep(f func(), disk func(io.Writer) io.Writer) { s.step, s.disk = f, disk }
