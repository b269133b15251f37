package cron

import (
	"testing"
	"time"
)

func TestAScheduleHasNoTimeWithoutADay(t *testing.T) {
	if at, err := parseDay("--start", "09:00", time.Now(), zoneNamed("Asia/Tokyo")); err == nil {
		t.Errorf("a clock of this machine gave %v", at)
	}
}
