package api

import (
	"net/http"
	"slices"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

const (
	schedulesPath = wire.Version + "/schedules"
	schedulePath  = schedulesPath + "/{name}"
)

// showsSchedule is a reply that shows a schedule.
func showsSchedule(status int, about string) reply {
	return reply{status: status, about: about, body: wire.Schedule{}, tagged: true, placed: status == http.StatusCreated}
}

func scheduleRoutes() []route {
	return slices.Concat(scheduleRecordRoutes(), occurrenceRoutes())
}

// scheduleRecordRoutes are about schedules themselves.
func scheduleRecordRoutes() []route {
	return []route{
		{
			method: "GET", path: schedulesPath, serve: (*Server).listSchedules, scope: task.ScopeRead, tag: "schedules",
			id: "listSchedules", summary: "List schedules", about: "In the order of their names.",
			query: []param{labelParam, limitParam, cursorParam, includeParam}, replies: []reply{{status: 200, about: "A page of schedules.", body: wire.ScheduleList{}}},
		},
		{
			method: "GET", path: schedulePath, serve: (*Server).getSchedule, scope: task.ScopeRead, tag: "schedules",
			id: "getSchedule", summary: "Read a schedule",
			about:   "The entity tag counts what clients changed: what the schedule does by itself does not change it. It serves If-Match; a read is always answered in full.",
			replies: []reply{showsSchedule(200, "The schedule, with the body of its tasks.")},
		},
		{
			method: "PUT", path: schedulePath, serve: (*Server).putSchedule, scope: task.ScopeWrite, tag: "schedules",
			id: "putSchedule", summary: "Make a schedule, or change it",
			about: "Replaces all that was asked for before. Its id, its runs and a pause stay, and what has fired does not fire again; the tasks it has made stay as they are. " +
				"A new one, and one whose instants are others now, begins with the first instant after this.",
			headers: []param{ifMatchHeader, ifNoneMatchHeader}, body: wire.ScheduleInput{},
			replies: []reply{showsSchedule(200, "Changed, and durable."), showsSchedule(201, "Made, and durable.")},
		},
		{
			method: "DELETE", path: schedulePath, serve: (*Server).deleteSchedule, scope: task.ScopeWrite, tag: "schedules",
			id: "deleteSchedule", summary: "End a schedule", about: "The tasks it has made stay: cancel them if they shall not run.",
			headers: []param{ifMatchHeader}, replies: []reply{showsSchedule(200, "Gone: what it was. It makes no task after this reply.")},
		},
		{
			method: "POST", path: schedulePath + "/pause", serve: (*Server).pauseSchedule, scope: task.ScopeWrite, tag: "schedules",
			id: "pauseSchedule", summary: "Pause a schedule", about: "It makes no task until it is resumed, but what is triggered or backfilled. The tasks it has made go on. Pausing again changes nothing.",
			headers: []param{ifMatchHeader}, replies: []reply{showsSchedule(200, "Paused, and durable.")},
		},
		{
			method: "POST", path: schedulePath + "/resume", serve: (*Server).resumeSchedule, scope: task.ScopeWrite, tag: "schedules",
			id: "resumeSchedule", summary: "Resume a schedule", about: "It goes on with the next instant: those during the pause are not made up for; a backfill does that. Resuming again changes nothing.",
			headers: []param{ifMatchHeader}, replies: []reply{showsSchedule(200, "Resumed, and durable.")},
		},
	}
}

// occurrenceRoutes are about what schedules make.
func occurrenceRoutes() []route {
	return []route{
		{
			method: "POST", path: schedulePath + "/trigger", serve: (*Server).triggerSchedule, scope: task.ScopeWrite, tag: "schedules",
			id: "triggerSchedule", summary: "Make a task of a schedule now",
			about:   "Due now, also while the schedule is paused or has ended, or another task of it is unfinished. It counts as unfinished for the instants that follow, and is none of the schedule's runs.",
			headers: []param{idempotencyHeader, ifMatchHeader},
			replies: []reply{shows(201, "Created, and durable. The repeat of a trigger with the same Idempotency-Key is answered with the task it made, whatever If-Match says.")},
		},
		{
			method: "POST", path: schedulePath + "/backfill", serve: (*Server).backfillSchedule, scope: task.ScopeWrite, tag: "schedules",
			id: "backfillSchedule", summary: "Make the tasks of instants that have passed",
			about: "One for each instant of the rule from one time until another, whether or not it fired then, at most 1000: all are due now, and each carries its instant. Works while the schedule is paused. " +
				"Not atomic: a request that breaks off, as at a quota, has made a part of them, and detail says how many; the same request again makes the rest, and nothing twice.",
			headers: []param{ifMatchHeader}, body: wire.BackfillInput{}, unprocessable: true,
			replies: []reply{{status: 200, about: "How many tasks were made, and durable.", body: wire.BackfillReply{}}},
		},
		{
			method: "GET", path: schedulePath + "/preview", serve: (*Server).previewSchedule, scope: task.ScopeRead, tag: "schedules",
			id: "previewSchedule", summary: "See when a schedule fires",
			about: "What its rule says from now on, or from another time: between start and end, whatever was fired or paused. What max_runs leaves is the most where it begins now. 409 where the server does not know the schedule's time zone any more.",
			query: []param{previewParam, fromParam}, unfollowed: true, replies: []reply{{status: 200, about: "The instants, the earliest first.", body: wire.Preview{}}},
		},
	}
}

var (
	previewParam = param{name: "limit", about: "At most that many; 10 by default.", format: "integer", low: 1, high: maxLimit}
	fromParam    = param{name: "from", about: "The first instant is this, or the one after. Default: now.", format: "date-time"}
)
