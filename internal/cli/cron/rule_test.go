package cron

import (
	"testing"
	"time"

	"github.com/foliot/foliot/client"
)

func TestARuleIsShownWithoutUnitsThatAreZero(t *testing.T) {
	if got := ruleWords(&client.ScheduleSpec{Every: 24 * time.Hour}); got != "every 24h" {
		t.Error(got)
	}
}
