package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	secretPrefix = "whsec_"
	versionOne   = "v1,"
)

var (
	errSecret  = errors.New("webhook: a signing secret is whsec_ followed by 24 to 64 bytes in base64, as foliot secret create prints it")
	errNoneSet = errors.New("webhook: no secret is given: pass the secret of the queue or of the namespace")
)

// CheckSecret returns an error, which does not quote the secret, unless secret
// has the form of Standard Webhooks: "whsec_" and 24 to 64 bytes in padded
// base64.
func CheckSecret(secret string) error {
	_, err := keyOf(secret)
	return err
}

// Sign returns the value of HeaderSignature for a callback with this ID, time
// and body: a signature with each secret, in their order. Foliot signs with it,
// and the test of a receiver can. It returns an error if there is no secret, if
// a secret is invalid, or if id is empty or contains a dot.
func Sign(secrets []string, id string, at time.Time, body []byte) (string, error) {
	keys, err := keysOf(secrets)
	switch {
	case err != nil:
		return "", err
	case id == "" || strings.Contains(id, "."): // dots join the signed parts
		return "", fmt.Errorf("webhook: the id %q is empty or contains a dot: use another one", id)
	}
	var room [128]byte
	head := appendHead(room[:0], id, strconv.FormatInt(at.Unix(), 10))
	signatures := make([]byte, 0, len(keys)*(len(versionOne)+base64.StdEncoding.EncodedLen(sha256.Size)+1))
	for i, key := range keys {
		if i > 0 {
			signatures = append(signatures, ' ')
		}
		signatures = appendSignature(signatures, key, head, body)
	}
	return string(signatures), nil
}

// appendSignature appends a signature as HeaderSignature has it.
func appendSignature(b, key, head, body []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(head)
	h.Write(body)
	return base64.StdEncoding.AppendEncode(append(b, versionOne...), h.Sum(nil))
}

// appendHead appends the signed bytes before the body.
func appendHead(b []byte, id, stamp string) []byte {
	b = append(append(b, id...), '.')
	return append(append(b, stamp...), '.')
}

func keysOf(secrets []string) ([][]byte, error) {
	if len(secrets) == 0 {
		return nil, errNoneSet
	}
	keys := make([][]byte, len(secrets))
	for i, secret := range secrets {
		key, err := keyOf(secret)
		if err != nil {
			return nil, err
		}
		keys[i] = key
	}
	return keys, nil
}

func keyOf(secret string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(secret, secretPrefix)
	if !ok || strings.ContainsAny(encoded, "\r\n") { // the decoder would skip these
		return nil, errSecret
	}
	key, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil || len(key) < 24 || len(key) > 64 {
		return nil, errSecret
	}
	return key, nil
}
