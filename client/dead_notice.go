package client

// DeadNotice is the URL that is notified, by a task of its own, when a task
// dies. The zero DeadNotice leaves the choice to the queue.
type DeadNotice struct {
	url string
	off bool
}

// NoDeadNotice notifies no URL, even if the queue has an OnDead URL.
var NoDeadNotice = DeadNotice{off: true}

// NotifyURL returns a DeadNotice for that URL, which for an empty url is the
// zero DeadNotice.
func NotifyURL(url string) DeadNotice { return DeadNotice{url: url} }

// URL returns the URL, which is empty for NoDeadNotice and for the zero
// DeadNotice.
func (n DeadNotice) URL() string { return n.url }

// String returns the URL, or "none" for NoDeadNotice.
func (n DeadNotice) String() string {
	if n.off {
		return "none"
	}
	return n.url
}

// wire returns n as the API writes it: nil is the queue's, and "" is none.
func (n DeadNotice) wire() *string {
	if n == (DeadNotice{}) {
		return nil
	}
	return &n.url
}

func deadNotice(url *string) DeadNotice {
	switch {
	case url == nil:
		return DeadNotice{}
	case *url == "":
		return NoDeadNotice
	}
	return NotifyURL(*url)
}
