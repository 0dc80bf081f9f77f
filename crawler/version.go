package crawler

// Version is the version of amble, as sent in the default User-Agent.
const Version = "0.2.0"
