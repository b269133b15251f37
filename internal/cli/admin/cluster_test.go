package admin

import (
	"testing"

	"github.com/foliot/foliot/client"
)

func TestANodeWhoseNameIsTakenIsListedAsSuch(t *testing.T) {
	if state := nodeState(&client.Node{Name: "a", Self: true, NameTaken: true}); state != "name taken" {
		t.Error(state)
	}
}
