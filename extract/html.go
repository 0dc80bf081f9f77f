package extract

// HTML reads a page: UTF-8 text, of a document of type text/html or application/xhtml+xml. It never
// fails; what is no markup yields nothing. The result shares no memory with body.
func HTML(body []byte, o Options) *Document {
	d := new(Document)
	var c collector
	c.reset(o.resolved(), d)
	tokenize(body, &c)
	c.close()
	return d
}
