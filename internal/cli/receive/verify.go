package receive

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/fileaccess"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/usage"
	"github.com/foliot/foliot/webhook"
)

// verify records and returns whether c is signed with one of the secrets.
func (c *callback) verify(secrets []string, h http.Header, arrived time.Time, body []byte) bool {
	_, err := webhook.Verify(secrets, h, body, webhook.Options{Now: func() time.Time { return arrived }})
	if len(body) == maxRead {
		err = fmt.Errorf("its body is longer than %d bytes, the longest that Foliot sends", task.MaxBody)
	}
	verified := err == nil
	c.Verified = &verified
	if !verified {
		c.Refusal = strings.TrimPrefix(err.Error(), webhook.ErrUntrusted.Error()+": ")
	}
	return verified
}

// verifySecrets returns the secrets of a list. An entry that begins with @ names
// a file with one secret per line.
func verifySecrets(entries []string) ([]string, error) {
	var secrets []string
	for _, s := range entries {
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
			s = strings.TrimSpace(s)
			switch err := webhook.CheckSecret(s); {
			case err != nil && isFile:
				return nil, usage.Errorf("--verify", "a line of %s is not a secret: %v", name, err)
			case err != nil: // without the value, because it may contain a secret
				return nil, usage.Errorf("--verify", "%v; to name a file, write @FILE", err)
			}
			secrets = append(secrets, s)
		}
	}
	return secrets, nil
}
