package warc

// A committed offset consists of the serial number of a file and an offset in that file: serial<<40 | offset. It
// grows with the output and is 0 only before the first file.
const (
	offsetBits = 40
	maxOffset  = 1<<offsetBits - 1
	maxSerial  = 1<<(63-offsetBits) - 1
)

func pack(serial, offset int64) int64 { return serial<<offsetBits | offset }

func unpack(committed int64) (serial, offset int64) {
	return committed >> offsetBits, committed & maxOffset
}
