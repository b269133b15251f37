package tasks

// Commands holds the commands that act on tasks. They are commands of foliot
// and of foliot task.
type Commands struct {
	Add      Add      `cmd:"" group:"tasks" aliases:"create" help:"Create a task: call a URL at a given time."`
	Get      Get      `cmd:"" group:"tasks" aliases:"show" help:"Show one task and its attempts."`
	Ls       Ls       `cmd:"" group:"tasks" aliases:"list" help:"List tasks."`
	Due      Due      `cmd:"" group:"tasks" help:"Count the tasks that come due, by time."`
	Upcoming Upcoming `cmd:"" group:"tasks" help:"List what is due next: tasks, and instants of schedules."`
	Cancel   Cancel   `cmd:"" group:"tasks" aliases:"delete,rm" help:"Cancel tasks."`
	Move     Move     `cmd:"" group:"tasks" help:"Change the due time of tasks."`
	Touch    Touch    `cmd:"" group:"tasks" help:"Restart the delay of tasks, as the heartbeat of a watchdog."`
	Run      Run      `cmd:"" group:"tasks" help:"Make waiting tasks due now."`
	Retry    Retry    `cmd:"" group:"tasks" help:"Run dead or finished tasks again."`
}
