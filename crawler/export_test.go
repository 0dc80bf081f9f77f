package crawler

// Names that tests of package crawler_test use.
const (
	DefaultCommitInterval = defaultCommitInterval
	MaxSample             = maxSampleN
	MaxSampled            = maxSampled
)

// Class is classOf.
func Class(ticket uint64) int { return classOf(ticket) }
