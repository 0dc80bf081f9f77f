package sink

// OpenItemsFull opens an items file on a disk with room more bytes left.
func OpenItemsFull(path string, room int) (*JSONL, error) {
	j, err := OpenFull(path, room)
	if err != nil {
		return nil, err
	}
	return items(j), nil
}

// OpenCSVFull opens a CSV file on a disk with room more bytes left.
func OpenCSVFull(path string, room int) (*CSV, error) {
	c, err := OpenCSV(path)
	if err != nil {
		return nil, err
	}
	n := &narrow{c.out.f, room}
	c.out.f, c.out.w = n, n
	return c, nil
}

// OpenLinksFull opens a links file on a disk with room more bytes left.
func OpenLinksFull(path string, room int) (*JSONL, error) {
	j, err := OpenFull(path, room)
	if err != nil {
		return nil, err
	}
	return outlinks(j), nil
}
