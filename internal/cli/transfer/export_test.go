package transfer

import (
	"testing"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/task"
)

func TestADeadNoticeCanBeImported(t *testing.T) {
	line := exportLine(&client.Task{Spec: client.Spec{Name: "order-42@dead.0190.3"}, ID: "f7a0"})
	if err := task.ValidateName("name", line.Name); err != nil {
		t.Errorf("the line names it %q: %v", line.Name, err)
	}
}
