// Runs the jobs of graphile-worker. It prints the payload of each job, and ends the job
// when the number of its task, i, comes back. It ends when its input does.
import { createInterface } from "node:readline";
import { Logger, run } from "graphile-worker";

const [connectionString, worker] = process.argv.slice(2);
const ends = new Map();
createInterface({ input: process.stdin })
  .on("line", (i) => {
    ends.get(i)();
    ends.delete(i);
  })
  .on("close", () => process.exit());
await run({
  connectionString,
  noHandleSignals: true,
  logger: new Logger(() => () => {}),
  preset: { worker: JSON.parse(worker) },
  taskList: {
    order: (payload) =>
      new Promise((end) => {
        ends.set(String(payload.i), end);
        process.stdout.write(JSON.stringify(payload) + "\n");
      }),
  },
});
process.stdout.write("started\n");
