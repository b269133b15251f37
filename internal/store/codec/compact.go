package codec

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// compactFormat is the first byte of a value in the compact form. A store that
// keeps its values in memory writes this form. Versions without it refuse such
// a value.
const compactFormat = 3

// compactKindFormat is the first byte of a compact record with a kind: see
// kindFormat.
const compactKindFormat = 5

// A compact record is compactFormat or compactKindFormat, a head, and then fields
// as in the usual form. The head consists of flags, an identifier of 16 bytes if a
// flag demands it, and then the due time, the URL and the body's size and kind.
// Each flag states the value of one or more fields. Such a field is left out, and
// so are the fields that the key implies. A field without its flag stands after the
// head, unless it is zero. So a record with unusual values is not larger than in
// the usual form, apart from the head.
//
// New fields follow the head with a number, as in the usual form, and older
// versions skip them. A new flag needs a new format.
const (
	nameIsID         = 1 << iota // ID: the name, which is a UUID
	hasUUID                      // ID: the UUID after the flags
	createdWithID                // CreatedAt: the time in the ID
	isScheduled                  // State
	dueIsOriginal                // OriginalDue: Due
	firstVersion                 // Version: 1
	usualQueue                   // Queue
	usualPriority                // Priority
	usualMethod                  // Request.Method
	usualLimits                  // Timeout, ExpireAfter and Retry
	urlIsHTTP                    // Request.URL: http:// and the head's URL
	urlIsHTTPS                   // Request.URL: https:// and the head's URL
	destinationOfURL             // Request.Destination: host and port of the URL, as written there
	delayIsUsual                 // Relative and Delay: the time from CreatedAt to OriginalDue
	leaseIsUsual                 // Lease.TaskID and Lease.Timeout: those of the task
	allFlags         = 1<<iota - 1
)

// The usual values. They are a part of the format and never change, even if a
// default changes.
const (
	theQueue      = "default"
	thePriority   = task.Normal
	theMethod     = "POST"
	theTimeout    = 15 * time.Second
	theMinBackoff = time.Second
	theMaxBackoff = time.Hour
	theMaxAge     = 24 * time.Hour
)

var theRetry = task.Retry{MinBackoff: theMinBackoff, MaxBackoff: theMaxBackoff, MaxAge: theMaxAge}

const (
	plainScheme, secureScheme = "http://", "https://"
	plainPort, securePort     = ":80", ":443"
)

// maxHeadSize is the largest body size in a head, and maxHeadKind the largest
// kind. Other values have a field.
const (
	maxHeadSize = 1 << 40
	maxHeadKind = 3
)

// AppendCompactRecord appends the record of t, without its body, to dst.
func AppendCompactRecord(dst []byte, t *task.Task) []byte {
	rest := *t // loses each field that the head states
	var id [16]byte
	flags := uint64(0)
	if parsed, ok := parseUUID(t.ID); ok {
		id, rest.ID = parsed, ""
		if flags = hasUUID; t.ID == t.Name {
			flags = nameIsID
		}
		if t.CreatedAt == timeOf(id) {
			flags, rest.CreatedAt = flags|createdWithID, 0
		}
	}
	if t.State == task.Scheduled {
		flags, rest.State = flags|isScheduled, 0
	}
	if t.OriginalDue == t.Due {
		flags, rest.OriginalDue = flags|dueIsOriginal, 0
	}
	if t.Version == 1 {
		flags, rest.Version = flags|firstVersion, 0
	}
	if t.Queue == theQueue {
		flags, rest.Queue = flags|usualQueue, ""
	}
	if t.Priority == thePriority {
		flags, rest.Priority = flags|usualPriority, 0
	}
	if t.Request.Method == theMethod {
		flags, rest.Request.Method = flags|usualMethod, ""
	}
	if t.Timeout == theTimeout && t.ExpireAfter == 0 && t.Retry == theRetry {
		flags, rest.Timeout, rest.Retry = flags|usualLimits, 0, task.Retry{}
	}
	if t.Relative && t.Delay == delayOf(t) {
		flags, rest.Relative, rest.Delay = flags|delayIsUsual, false, 0
	}
	url, scheme := cutScheme(t.Request.URL)
	if flags |= scheme; isDestination(t.Request.Destination, url, scheme) {
		flags, rest.Request.Destination = flags|destinationOfURL, ""
	}
	if l := t.Lease; l != nil && l.TaskID == t.ID && l.Timeout == t.Timeout {
		flags, rest.Lease = flags|leaseIsUsual, &task.Lease{Token: l.Token, Since: l.Since, Until: l.Until, Holder: l.Holder}
	}
	body := uint64(0)
	if size, kind := t.Request.BodySize, t.Request.BodyKind; size >= 0 && size <= maxHeadSize && kind <= maxHeadKind {
		body, rest.Request.BodySize, rest.Request.BodyKind = uint64(size)<<2|uint64(kind), 0, 0
	}
	rest.Due, rest.Request.URL = 0, ""

	if t.Request.Kind != "" {
		dst = append(dst, compactKindFormat)
	} else {
		dst = append(dst, compactFormat)
	}
	dst = binary.AppendUvarint(dst, flags)
	if flags&hasUUID != 0 {
		dst = append(dst, id[:]...)
	}
	dst = binary.AppendVarint(dst, int64(t.Due-t.CreatedAt)) // an overflow is undone when it is added
	dst = binary.AppendUvarint(dst, uint64(len(url)))
	dst = append(dst, url...)
	dst = binary.AppendUvarint(dst, body)
	return appendFields(dst, &rest)
}

// DecodeCompactRecord returns the record src of the task with that key, in the
// compact form or in the usual form. Texts of the result can be parts of src.
// Errors name the task.
func DecodeCompactRecord(key task.Key, src string) (*task.Task, error) {
	if src == "" || src[0] != compactFormat && src[0] != compactKindFormat {
		return DecodeRecord(key, []byte(src))
	}
	t := &task.Task{Namespace: key.Namespace, Name: key.Name}
	return checked(t, decodeCompact(t, src[1:]))
}

func decodeCompact(t *task.Task, src string) error {
	h := head{src: src}
	flags := h.uvarint()
	if flags > allFlags || flags&nameIsID != 0 && flags&hasUUID != 0 || flags&urlIsHTTP != 0 && flags&urlIsHTTPS != 0 {
		h.fail()
	}
	id := h.id(t.Name, flags)
	due := h.varint()
	url := h.text()
	body := h.uvarint()
	if h.damaged || body>>2 > maxHeadSize {
		return fmt.Errorf("head: %w", ErrDamaged)
	}
	setUsual(t, flags)
	t.Request.BodySize, t.Request.BodyKind = int(body>>2), task.BodyKind(body&maxHeadKind)
	setTexts(t, flags, id, url)
	if flags&createdWithID != 0 {
		t.CreatedAt = timeOf(id)
	}
	if h.src != "" {
		if err := eachField([]byte(h.src), h.src, func(f field) error { return setField(t, f) }); err != nil {
			return err
		}
	}
	return setDerived(t, flags, task.Millis(due))
}

// setUsual sets the fields whose flags state a fixed value.
func setUsual(t *task.Task, flags uint64) {
	if flags&isScheduled != 0 {
		t.State = task.Scheduled
	}
	if flags&firstVersion != 0 {
		t.Version = 1
	}
	if flags&usualQueue != 0 {
		t.Queue = theQueue
	}
	if flags&usualPriority != 0 {
		t.Priority = thePriority
	}
	if flags&usualMethod != 0 {
		t.Request.Method = theMethod
	}
	if flags&usualLimits != 0 {
		t.Timeout, t.Retry = theTimeout, theRetry
	}
}

// setTexts sets the identifier and the URL in one allocation, and the
// destination. The destination is a copy, because lanes outlive their tasks.
func setTexts(t *task.Task, flags uint64, id [16]byte, url string) {
	scheme := ""
	switch {
	case flags&urlIsHTTP != 0:
		scheme = plainScheme
	case flags&urlIsHTTPS != 0:
		scheme = secureScheme
	}
	if flags&destinationOfURL != 0 {
		host, port := authority(url, flags)
		t.Request.Destination = strings.Clone(host)
		if port != "" {
			t.Request.Destination = host + port
		}
	}
	switch {
	case flags&hasUUID != 0:
		var text [task.UUIDText]byte
		task.PutUUID(&text, id)
		both := string(text[:]) + scheme + url
		t.ID, t.Request.URL = both[:task.UUIDText], both[task.UUIDText:]
	case flags&nameIsID != 0:
		t.ID, t.Request.URL = t.Name, scheme+url
	default:
		t.Request.URL = scheme + url
	}
}

// setDerived sets the fields that depend on other fields.
func setDerived(t *task.Task, flags uint64, due task.Millis) error {
	t.Due = t.CreatedAt + due
	if flags&dueIsOriginal != 0 {
		t.OriginalDue = t.Due
	}
	if flags&delayIsUsual != 0 {
		t.Relative, t.Delay = true, delayOf(t)
	}
	if flags&leaseIsUsual != 0 {
		if t.Lease == nil {
			return fmt.Errorf("lease: %w", ErrDamaged)
		}
		t.Lease.TaskID, t.Lease.Timeout = t.ID, t.Timeout
	}
	return nil
}

// delayOf returns the delay that a relative task has if it was never touched.
func delayOf(t *task.Task) time.Duration {
	return time.Duration(t.OriginalDue-t.CreatedAt) * time.Millisecond
}

// cutScheme returns url without its scheme, and the flag of the scheme.
func cutScheme(url string) (rest string, scheme uint64) {
	if rest, ok := strings.CutPrefix(url, secureScheme); ok {
		return rest, urlIsHTTPS
	}
	if rest, ok := strings.CutPrefix(url, plainScheme); ok {
		return rest, urlIsHTTP
	}
	return url, 0
}

// authority returns the host of url, which has no scheme, and the port that
// must be added to it: "" if the URL names a port.
func authority(url string, flags uint64) (host, port string) {
	host = url
	if end := strings.IndexAny(url, "/?#"); end >= 0 {
		host = url[:end]
	}
	if strings.LastIndexByte(host, ':') > strings.LastIndexByte(host, ']') {
		return host, ""
	}
	if flags&urlIsHTTPS != 0 {
		return host, securePort
	}
	return host, plainPort
}

// isDestination reports whether the destination d is host and port of url, in
// the same spelling.
func isDestination(d, url string, scheme uint64) bool {
	host, port := authority(url, scheme)
	return len(d) == len(host)+len(port) && strings.HasPrefix(d, host) && strings.HasSuffix(d, port)
}

// head reads the first part of a compact value. After an error, damaged is set
// and all results are zero.
type head struct {
	src     string
	damaged bool
}

func (h *head) fail() { h.src, h.damaged = "", true }

// bytes returns the next n bytes.
func (h *head) bytes(n uint64) string {
	if n > uint64(len(h.src)) {
		h.fail()
		return ""
	}
	b := h.src[:n]
	h.src = h.src[n:]
	return b
}

func (h *head) text() string { return h.bytes(h.uvarint()) }

func (h *head) byte() byte {
	if b := h.bytes(1); b != "" {
		return b[0]
	}
	return 0
}

func (h *head) uvarint() uint64 {
	v := uint64(0)
	for i := range len(h.src) {
		b := h.src[i]
		if i == binary.MaxVarintLen64-1 && b > 1 {
			break // overflow
		}
		if v |= uint64(b&0x7f) << (7 * i); b < 0x80 {
			h.src = h.src[i+1:]
			return v
		}
	}
	h.fail()
	return 0
}

func (h *head) varint() int64 {
	v := h.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

// id returns the UUID of a record with these flags.
func (h *head) id(name string, flags uint64) (id [16]byte) {
	ok := flags&createdWithID == 0
	switch {
	case flags&hasUUID != 0:
		ok = copy(id[:], h.bytes(uint64(len(id)))) == len(id)
	case flags&nameIsID != 0:
		id, ok = parseUUID(name)
	}
	if !ok {
		h.fail()
	}
	return id
}
