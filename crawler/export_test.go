package crawler

// Unexported names used by tests in package crawler_test.
const (
	DefaultCommitInterval = defaultCommitInterval
	MaxSample             = maxSampleN
	MaxSampled            = maxSampled
)

// Class exports classOf.
func Class(ticket uint64) int { return classOf(ticket) }
