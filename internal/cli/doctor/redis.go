package doctor

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/redischeck"
	"github.com/foliot/foliot/internal/server/redisurl"
	"github.com/foliot/foliot/internal/store/redisstore"
)

// StoreTime is the time limit for examining a Redis or PostgreSQL.
const StoreTime = 30 * time.Second

// Redis examines the Redis servers that u names, as foliot serve would use them
// with these settings.
func Redis(ctx context.Context, u *redisurl.URL, settings redisstore.Config, f *Report) error {
	ctx, stop := context.WithTimeout(ctx, StoreTime)
	defer stop()
	x, err := redisstore.Examine(ctx, settings)
	if err != nil {
		return u.Explain("examine", err)
	}
	for _, found := range redischeck.Judge(x, settings, "this machine's clock") {
		f.add(found.Check, found.OK, "%s", found.Says)
	}
	return f.end()
}
