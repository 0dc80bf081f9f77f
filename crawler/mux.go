package crawler

type pathValue struct{ name, value string }
