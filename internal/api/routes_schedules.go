package api

import (
	"net/http"
	"slices"

	"github.com/foliot/foliot/internal/api/admission"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/wire"
)

const (
	schedulesPath = wire.Version + "/schedules"
	schedulePath  = schedulesPath + "/{name}"
)

// showsSchedule returns the description of a reply with a schedule.
func showsSchedule(status int, about string) reply {
	return reply{status: status, about: about, body: wire.Schedule{}, tagged: true, placed: status == http.StatusCreated}
}

func scheduleRoutes() []route {
	return slices.Concat(scheduleRecordRoutes(), occurrenceRoutes())
}

func scheduleRecordRoutes() []route {
	return []route{
		{
			method: "GET", path: schedulesPath, serve: (*Server).listSchedules, scope: settings.ScopeRead, tag: "schedules",
			weight: admission.Large, id: "listSchedules", summary: "List schedules", about: "In the order of their names.",
			query: []param{labelParam, limitParam, cursorParam, includeParam}, replies: []reply{{status: 200, about: "A page of schedules.", body: wire.ScheduleList{}}},
		},
		{
			method: "GET", path: schedulePath, serve: (*Server).getSchedule, scope: settings.ScopeRead, tag: "schedules",
			id: "getSchedule", summary: "Read a schedule",
			about:   "The entity tag counts changes by clients, not the steps of the schedule. It is for If-Match; a read always returns the whole schedule.",
			replies: []reply{showsSchedule(200, "The schedule, with the body of its tasks.")},
		},
		{
			method: "PUT", path: schedulePath, serve: (*Server).putSchedule, scope: settings.ScopeWrite, tag: "schedules",
			id: "putSchedule", summary: "Create or change a schedule",
			about: "Replaces all fields. The id, the runs and a pause stay. Instants that fired do not fire again, and existing tasks stay as they are. " +
				"A new schedule, and one with other instants than before, begins with the first instant after the PUT.",
			headers: []param{ifMatchHeader, ifNoneMatchHeader}, body: wire.ScheduleInput{},
			replies: []reply{showsSchedule(200, "Changed, and durable."), showsSchedule(201, "Created, and durable.")},
		},
		{
			method: "DELETE", path: schedulePath, serve: (*Server).deleteSchedule, scope: settings.ScopeWrite, tag: "schedules",
			id: "deleteSchedule", summary: "Delete a schedule", about: "Its tasks stay: cancel them if they must not run.",
			headers: []param{ifMatchHeader}, replies: []reply{showsSchedule(200, "The deleted schedule. It creates no task after this reply.")},
		},
		{
			method: "POST", path: schedulePath + "/pause", serve: (*Server).pauseSchedule, scope: settings.ScopeWrite, tag: "schedules",
			id: "pauseSchedule", summary: "Pause a schedule", about: "It creates no task until it is resumed, except by a trigger or backfill. Existing tasks go on. Pausing again changes nothing.",
			headers: []param{ifMatchHeader}, replies: []reply{showsSchedule(200, "Paused, and durable.")},
		},
		{
			method: "POST", path: schedulePath + "/resume", serve: (*Server).resumeSchedule, scope: settings.ScopeWrite, tag: "schedules",
			id: "resumeSchedule", summary: "Resume a schedule", about: "It continues with the next instant. The instants during the pause create no tasks, unless a backfill creates them. Resuming again changes nothing.",
			headers: []param{ifMatchHeader}, replies: []reply{showsSchedule(200, "Resumed, and durable.")},
		},
	}
}

// occurrenceRoutes returns the routes of the tasks that schedules create.
func occurrenceRoutes() []route {
	return []route{
		{
			method: "POST", path: schedulePath + "/trigger", serve: (*Server).triggerSchedule, scope: settings.ScopeWrite, tag: "schedules",
			id: "triggerSchedule", summary: "Create a task of a schedule now",
			about:   "The task is due now, even if the schedule is paused or has ended, or another task of it is unfinished. For later instants it counts as an unfinished task. It does not count in runs.",
			headers: []param{idempotencyHeader, ifMatchHeader},
			replies: []reply{shows(201, "Created, and durable. The reply to a repeat with the same Idempotency-Key is the task that the first trigger created; If-Match is ignored.")},
		},
		{
			method: "POST", path: schedulePath + "/backfill", serve: (*Server).backfillSchedule, scope: settings.ScopeWrite, tag: "schedules",
			id: "backfillSchedule", summary: "Create the tasks of past instants",
			about: "Creates a task for each instant of the rule between two times, even if it fired then, at most 1000. All are due now, and each carries its instant. Also works while the schedule is paused. " +
				"Not atomic: a request that ends early, for example at a quota, has created a part, and detail has the number. The same request again creates the rest, and none twice.",
			headers: []param{ifMatchHeader}, body: wire.BackfillInput{}, unprocessable: true,
			replies: []reply{{status: 200, about: "The number of created tasks, which are durable.", body: wire.BackfillReply{}}},
		},
		{
			method: "GET", path: schedulePath + "/preview", serve: (*Server).previewSchedule, scope: settings.ScopeRead, tag: "schedules",
			id: "previewSchedule", summary: "Preview the instants of a schedule",
			about: "The instants of the rule from now on, or from another time, between start and end. Whether they fired or were paused does not matter. A preview from now on ends at max_runs. 409 if the server no longer knows the time zone of the schedule.",
			query: []param{previewParam, previewFromParam}, mayConflict: true, replies: []reply{{status: 200, about: "The instants, the earliest first.", body: wire.Preview{}}},
		},
		{
			method: "POST", path: schedulesPath + "/preview", serve: (*Server).previewRule, scope: settings.ScopeRead, tag: "schedules",
			id: "previewRule", summary: "Preview the instants of a rule",
			about: "Stores nothing. The body has the fields of a schedule that select instants. Without start and anchor, every counts from the earliest time of the request. " +
				"With an absence, the reply also has the missed instants that the schedule fires at its end, and those that it skips. Overlap does not count, because the end of the tasks is unknown.",
			query: []param{previewParam, previewFromParam, daysParam, absentFromParam, absentUntilParam}, body: wire.ScheduleRule{},
			replies: []reply{{status: 200, about: "The instants, the earliest first.", body: wire.RulePreview{}}},
		},
	}
}

var (
	previewParam     = param{name: "limit", about: "The maximum number of instants; 10 by default.", format: "integer", low: 1, high: maxLimit}
	previewFromParam = param{name: "from", about: "The first instant is at this time or later. Default: now.", format: "date-time"}
	daysParam        = param{name: "days", about: "Count the instants of this number of days.", format: "integer", low: 1, high: maxPreviewDays}
	absentFromParam  = param{name: "absent_from", about: "From this time until absent_until no server fires the schedule.", format: "date-time"}
	absentUntilParam = param{name: "absent_until", about: "The end of the absence.", format: "date-time"}
)
