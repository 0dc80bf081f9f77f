package sink

// OpenItemsFull opens items on a disk with room for room more bytes.
func OpenItemsFull(path string, room int) (*JSONL, error) {
	j, err := OpenFull(path, room)
	if err != nil {
		return nil, err
	}
	return items(j), nil
}

// OpenCSVFull opens a CSV on a disk with room for room more bytes.
func OpenCSVFull(path string, room int) (*CSV, error) {
	c, err := OpenCSV(path)
	if err != nil {
		return nil, err
	}
	n := &narrow{c.out.f, room}
	c.out.f, c.out.w = n, n
	return c, nil
}

// OpenLinksFull opens links on a disk with room for room more bytes.
func OpenLinksFull(path string, room int) (*JSONL, error) {
	j, err := OpenFull(path, room)
	if err != nil {
		return nil, err
	}
	return outlinks(j), nil
}
