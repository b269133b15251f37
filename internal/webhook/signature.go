package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The headers of Standard Webhooks 1.0.
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp"
	HeaderSignature = "Webhook-Signature"
)

// tolerance is how far a callback's timestamp may differ from the receiver's
// clock, in either direction, because an older callback may be a replay.
const tolerance = 5 * time.Minute

// The reasons for which Verify refuses a callback.
var (
	errUnsigned  = errors.New("the callback has no signature")
	errMalformed = errors.New("the signature headers are malformed")
	errTooOld    = errors.New("the callback is more than 5 minutes old by this clock")
	errTooNew    = errors.New("the callback's time is more than 5 minutes ahead of this clock")
	errNoMatch   = errors.New("no signature matches: the secret is different, or the body, id or time was changed")
)

const (
	secretPrefix = "whsec_"
	versionOne   = "v1,"
	mostDigits   = 18 // of a timestamp: every int64 can hold them
)

var errSecret = errors.New("a signing secret is whsec_ followed by 24 to 64 bytes in base64")

// ParseSecret returns the key of a secret in the form of the standard: "whsec_"
// and 24 to 64 bytes in padded base64. The error does not quote s.
func ParseSecret(s string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(s, secretPrefix)
	if !ok || strings.ContainsAny(encoded, "\r\n") { // the decoder would skip these
		return nil, errSecret
	}
	key, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil || len(key) < 24 || len(key) > 64 {
		return nil, errSecret
	}
	return key, nil
}

// FormatSecret returns key in the form that ParseSecret accepts.
func FormatSecret(key []byte) string {
	return secretPrefix + base64.StdEncoding.EncodeToString(key)
}

// Sign returns the value of HeaderSignature for a message that is sent at at: a
// signature with each key, in the order of keys, or "" without a key.
//
// Dots join the parts, so the first two must not contain a dot. id is the ID of
// a task, which this server creates, and a client never chooses.
func Sign(keys [][]byte, id string, at time.Time, body []byte) string {
	if len(keys) == 0 {
		return ""
	}
	var room [128]byte
	head := appendHead(room[:0], id, strconv.FormatInt(at.Unix(), 10))
	signatures := make([]byte, 0, len(keys)*(len(versionOne)+base64.StdEncoding.EncodedLen(sha256.Size)+1))
	for i, key := range keys {
		if i > 0 {
			signatures = append(signatures, ' ')
		}
		signatures = append(signatures, versionOne...)
		signatures = base64.StdEncoding.AppendEncode(signatures, mac(key, head, body))
	}
	return string(signatures)
}

// Verify returns nil if one of keys made one of the signatures in h. The
// signature must cover this body and the id and time in h, and that time must
// be within tolerance of now. Verify skips signatures of other versions.
// Otherwise it returns one of the errors above, perhaps wrapped, which are for
// people: the reply to each is 401.
//
// body must be the bytes as they were received, and the caller must find out,
// by the id, whether the callback is new.
func Verify(keys [][]byte, h http.Header, body []byte, now time.Time) error {
	id, stamp, signatures, err := signed(h)
	if err != nil {
		return err
	}
	at, err := parseTimestamp(stamp)
	switch {
	case err != nil:
		return err
	case now.Sub(at) > tolerance:
		return errTooOld
	case at.Sub(now) > tolerance:
		return errTooNew
	}
	head := appendHead(nil, id, stamp)
	for _, key := range keys {
		want := base64.StdEncoding.AppendEncode([]byte(versionOne), mac(key, head, body))
		for one := range strings.SplitSeq(signatures, " ") {
			if hmac.Equal([]byte(one), want) { // takes the same time wherever they differ
				return nil
			}
		}
	}
	return errNoMatch
}

// signed returns the headers that form a signature or that it covers. Each must
// occur once, because of two headers, another program may read the other one.
func signed(h http.Header) (id, stamp, signatures string, err error) {
	var values [3]string
	for i, name := range []string{HeaderID, HeaderTimestamp, HeaderSignature} {
		switch all := h.Values(name); {
		case len(all) > 1:
			return "", "", "", fmt.Errorf("%w: %s occurs %d times", errMalformed, strings.ToLower(name), len(all))
		case len(all) == 1:
			values[i] = all[0]
		}
	}
	id, stamp, signatures = values[0], values[1], values[2]
	switch {
	case signatures == "":
		return "", "", "", errUnsigned
	case id == "":
		return "", "", "", fmt.Errorf("%w: webhook-id is missing", errMalformed)
	case strings.Contains(id, "."):
		// Otherwise the signature of id "a", time 1 and body "2.x" would also
		// be valid for id "a.1", time 2 and body "x".
		return "", "", "", fmt.Errorf("%w: webhook-id contains a dot", errMalformed)
	}
	return id, stamp, signatures, nil
}

// parseTimestamp parses seconds since 1970, digits only.
func parseTimestamp(s string) (time.Time, error) {
	if !allDigits(s) || len(s) > mostDigits {
		return time.Time{}, fmt.Errorf("%w: webhook-timestamp is not a number of seconds", errMalformed)
	}
	seconds, err := strconv.ParseInt(s, 10, 64)
	return time.Unix(seconds, 0), err
}

// appendHead appends the signed bytes before the body.
func appendHead(b []byte, id, stamp string) []byte {
	b = append(append(b, id...), '.')
	return append(append(b, stamp...), '.')
}

func mac(key, head, body []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(head)
	h.Write(body)
	return h.Sum(nil)
}
