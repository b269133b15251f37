import { Client, ProblemError } from "./foliot.ts";

const [server, receiver] = process.argv.slice(2);
const foliot = new Client(server, process.env.FOLIOT_TOKEN);

// Call a URL in a second, and wait until that is done.
const made = await foliot.createTask(
  { delay: "1s", http: { url: receiver + "/hello", body: { order: 42 } }, labels: { language: "typescript" } },
  { idempotencyKey: "order-42-typescript" },
);
let task = made.body;
while (!task.finished_at) {
  task = (await foliot.getTask(task.name, { wait: "30s" })).body;
}
console.log("the first is", task.state, "with status", task.attempts[0].status);

// One that is not needed any more.
await foliot.putTask(
  "order-43-typescript",
  { delay: "1h", http: { url: receiver + "/hello" } },
  { idempotencyKey: crypto.randomUUID() },
);
const cancelled = await foliot.cancelTask("order-43-typescript");
console.log("the second is", cancelled.body.state, cancelled.status === 202 ? "after its attempt" : "before any attempt");

// Every weekday at nine in the evening, by the clocks of Berlin.
const report = { http: { url: receiver + "/hello" } };
const schedule = await foliot.putSchedule("report-typescript", { cron: "0 21 * * MON-FRI", timezone: "Europe/Berlin", task: report });
const preview = await foliot.previewSchedule("report-typescript", { from: "2030-11-20T00:00:00Z", limit: 1 });
console.log("the schedule fires", schedule.body.words + ":", preview.body.instants[0].local);
await foliot.deleteSchedule("report-typescript");

// What is refused says why.
try {
  await foliot.touchTask("order-43-typescript");
} catch (error) {
  if (!(error instanceof ProblemError)) throw error;
  console.log("again:", error.status, error.problem?.code);
}
