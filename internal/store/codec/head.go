package codec

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// The head of a record consists of flags, the due time, the URL and the body's
// size and kind. If a flag demands it, an identifier of 16 bytes follows the
// flags. Each flag states the value of one or more fields, which are left out,
// like the fields that the key implies. A field without its flag stands after
// the head, unless it is zero, so a record with unusual values is larger only by
// its head. A new flag needs a new format.
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

// The usual values, which are a part of the format and never change, even if a
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
// kind, while other values have a field.
const (
	maxHeadSize = min(1<<40, math.MaxInt-1) // the latter with 32 bits
	maxHeadKind = 3
)

func decodeFields(t *task.Task, src string) error {
	h := readHead(src, t.Name)
	if h.damaged {
		return errHead
	}
	setUsual(t, h.flags)
	t.Request.BodySize, t.Request.BodyKind = int(h.body>>2), task.BodyKind(h.body&maxHeadKind)
	setTexts(t, h.flags, h.id, h.url)
	h.setTimes(t)
	c := read(h.reader)
	if c.task(t); c.isDamaged() {
		return errFields
	}
	h.setDue(t)
	return setDerived(t, h.flags)
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
// destination as a copy, because lanes outlive their tasks.
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
func setDerived(t *task.Task, flags uint64) error {
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

var (
	errHead   = fmt.Errorf("head: %w", ErrDamaged)
	errFields = fmt.Errorf("fields: %w", ErrDamaged)
)

type head[T string | []byte] struct {
	reader[T] // after the head
	flags     uint64
	id        [16]byte
	due       task.Millis // Due less CreatedAt
	url       T
	body      uint64 // size and kind
}

func readHead[T, N string | []byte](src T, name N) (h head[T]) {
	h.src = src
	h.flags = h.uvarint()
	if h.flags > allFlags || h.flags&nameIsID != 0 && h.flags&hasUUID != 0 || h.flags&urlIsHTTP != 0 && h.flags&urlIsHTTPS != 0 {
		h.fail()
	}
	ok := h.flags&createdWithID == 0
	switch {
	case h.flags&hasUUID != 0:
		ok = copy(h.id[:], h.bytes(uint64(len(h.id)))) == len(h.id)
	case h.flags&nameIsID != 0:
		h.id, ok = parseUUID(name)
	}
	if !ok {
		h.fail()
	}
	h.due = task.Millis(h.varint())
	h.url = h.text()
	if h.body = h.uvarint(); h.body>>2 > maxHeadSize {
		h.fail()
	}
	return h
}

// setTimes sets the time of creation if the head states it; otherwise the field
// after the head has it.
func (h *head[T]) setTimes(t *task.Task) {
	if h.flags&createdWithID != 0 {
		t.CreatedAt = timeOf(h.id)
	}
}

// setDue sets the due times, which depend on the time of creation.
func (h *head[T]) setDue(t *task.Task) {
	t.Due = t.CreatedAt + h.due
	if h.flags&dueIsOriginal != 0 {
		t.OriginalDue = t.Due
	}
}

// reader reads the parts of a value one after the other, but after an error,
// damaged is set, src is empty, and all results are zero.
type reader[T string | []byte] struct {
	src     T
	damaged bool
}

func (r *reader[T]) fail() { r.src, r.damaged = r.src[:0], true }

// bytes returns the next n bytes.
func (r *reader[T]) bytes(n uint64) (b T) {
	if n > uint64(len(r.src)) {
		r.fail()
		return b
	}
	b, r.src = r.src[:n], r.src[n:]
	return b
}

func (r *reader[T]) text() T { return r.bytes(r.uvarint()) }

func (r *reader[T]) uvarint() uint64 {
	v := uint64(0)
	for i := range len(r.src) {
		b := r.src[i]
		if i == binary.MaxVarintLen64-1 && b > 1 {
			break // overflow
		}
		if v |= uint64(b&0x7f) << (7 * i); b < 0x80 {
			r.src = r.src[i+1:]
			return v
		}
	}
	r.fail()
	return 0
}

func (r *reader[T]) varint() int64 {
	v := r.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}
