package receive

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/fileaccess"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/usage"
	"github.com/foliot/foliot/internal/webhook"
)

// verify records and returns whether c is signed with one of keys.
func (c *callback) verify(keys [][]byte, h http.Header, arrived time.Time, body []byte) bool {
	err := webhook.Verify(keys, h, body, arrived)
	if len(body) == maxRead {
		err = fmt.Errorf("its body is longer than %d bytes, the longest that Foliot sends", task.MaxBody)
	}
	verified := err == nil
	c.Verified = &verified
	if !verified {
		c.Refusal = err.Error()
	}
	return verified
}

// verifyKeys returns the keys of secrets. An entry that begins with @ names a
// file with one secret per line.
func verifyKeys(secrets []string) ([][]byte, error) {
	var keys [][]byte
	for _, s := range secrets {
		list := []string{s}
		name, isFile := strings.CutPrefix(s, "@")
		if isFile {
			text, err := fileaccess.Read(name, fileaccess.SecretFile)
			if err != nil {
				return nil, usage.Errorf("--verify", "%v", err)
			}
			if list = strings.Fields(string(text)); len(list) == 0 {
				return nil, usage.Errorf("--verify", "%s contains no secret", name)
			}
		}
		for _, s := range list {
			key, err := webhook.ParseSecret(strings.TrimSpace(s))
			switch {
			case err != nil && isFile:
				return nil, usage.Errorf("--verify", "a line of %s is not a secret: %v", name, err)
			case err != nil: // without the value, because it may contain a secret
				return nil, usage.Errorf("--verify", "%v; to name a file, write @FILE", err)
			}
			keys = append(keys, key)
		}
	}
	return keys, nil
}
