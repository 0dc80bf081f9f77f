package items

import "io"

// OnStep has f called after each change of the directory, and what is written pass through disk.
func (s *Shards[T]) OnStep(f func(), disk func(io.Writer) io.Writer) { s.step, s.disk = f, disk }
