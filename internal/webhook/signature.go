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

// Tolerance is how far a callback's timestamp may lie from the receiver's
// clock, on either side. What is older may be a replay.
const Tolerance = 5 * time.Minute

// Why Verify refuses a callback.
var (
	ErrUnsigned  = errors.New("it carries no signature")
	ErrMalformed = errors.New("its signature headers are malformed")
	ErrTooOld    = errors.New("it is older than 5 minutes by this clock")
	ErrTooNew    = errors.New("it is from more than 5 minutes ahead of this clock")
	ErrNoMatch   = errors.New("no signature fits: another secret, or another body, id or time than was signed")
)

const (
	secretPrefix = "whsec_"
	versionOne   = "v1,"
	mostDigits   = 18 // of a timestamp: what every int64 holds
)

var errSecret = errors.New("a signing secret is whsec_ followed by 24 to 64 bytes in base64")

// ParseSecret returns the key that a secret in the standard's form stands for:
// "whsec_" and 24 to 64 bytes in padded base64. The error tells nothing of s.
func ParseSecret(s string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(s, secretPrefix)
	if !ok || strings.ContainsAny(encoded, "\r\n") { // which the decoder would skip
		return nil, errSecret
	}
	key, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil || len(key) < 24 || len(key) > 64 {
		return nil, errSecret
	}
	return key, nil
}

// FormatSecret returns key as ParseSecret reads it.
func FormatSecret(key []byte) string {
	return secretPrefix + base64.StdEncoding.EncodeToString(key)
}

// Sign returns the value of HeaderSignature for a message that is sent at at:
// a signature by each key, in the order of keys. Without a key it is "".
//
// The parts are joined by dots, so neither of the first two may hold one: id
// is a task's ID, which this server made, and never what a client chose.
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

// Verify returns nil if one of the signatures that h carries was made by one of
// keys, for this body and for the id and time that h states, and that time lies
// within Tolerance of now. Signatures of other versions are skipped. Otherwise
// it returns one of the errors above, perhaps wrapped. Which one is for people:
// the answer to each is 401.
//
// body is what came over the wire, byte for byte. That the callback is new is
// for the caller to find out, by its id.
func Verify(keys [][]byte, h http.Header, body []byte, now time.Time) error {
	id, stamp, signatures, err := signed(h)
	if err != nil {
		return err
	}
	at, err := parseTimestamp(stamp)
	switch {
	case err != nil:
		return err
	case now.Sub(at) > Tolerance:
		return ErrTooOld
	case at.Sub(now) > Tolerance:
		return ErrTooNew
	}
	head := appendHead(nil, id, stamp)
	for _, key := range keys {
		want := base64.StdEncoding.AppendEncode([]byte(versionOne), mac(key, head, body))
		for one := range strings.SplitSeq(signatures, " ") {
			if hmac.Equal([]byte(one), want) { // takes as long wherever they differ
				return nil
			}
		}
	}
	return ErrNoMatch
}

// signed returns the headers that a signature consists of and covers. Each
// stands there once: of two, somebody else may read the other one.
func signed(h http.Header) (id, stamp, signatures string, err error) {
	var values [3]string
	for i, name := range []string{HeaderID, HeaderTimestamp, HeaderSignature} {
		switch all := h.Values(name); {
		case len(all) > 1:
			return "", "", "", fmt.Errorf("%w: %s is there %d times", ErrMalformed, strings.ToLower(name), len(all))
		case len(all) == 1:
			values[i] = all[0]
		}
	}
	id, stamp, signatures = values[0], values[1], values[2]
	switch {
	case signatures == "":
		return "", "", "", ErrUnsigned
	case id == "":
		return "", "", "", fmt.Errorf("%w: there is no webhook-id", ErrMalformed)
	case strings.Contains(id, "."):
		// Otherwise the signature of id "a", time 1 and body "2.x" would be one
		// of id "a.1", time 2 and body "x".
		return "", "", "", fmt.Errorf("%w: the webhook-id holds a dot", ErrMalformed)
	}
	return id, stamp, signatures, nil
}

// parseTimestamp reads seconds since 1970, digits alone.
func parseTimestamp(s string) (time.Time, error) {
	if !allDigits(s) || len(s) > mostDigits {
		return time.Time{}, fmt.Errorf("%w: the webhook-timestamp is no number of seconds", ErrMalformed)
	}
	seconds, err := strconv.ParseInt(s, 10, 64)
	return time.Unix(seconds, 0), err
}

// appendHead appends what is signed before the body.
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
