// One line for each way to use the TypeScript client: see run.sh.
import { Client } from './dist/index.js'

const seconds = Number(process.env.SECONDS_EACH)
const callers = Number(process.env.CALLERS)

for (const batching of [false, true]) {
  let requests = 0
  let creates = 0
  const client = Client.fromEnv({
    batching,
    fetch: (input, init) => {
      requests++
      return fetch(input, init)
    },
  })
  const run = async (until) => {
    while (performance.now() < until) {
      await client.tasks.create({ delay: '1h', http: { url: 'http://127.0.0.1:9/' } })
      creates++
    }
  }
  const all = (until) => Promise.all(Array.from({ length: callers }, () => run(until)))
  await all(performance.now() + Math.min(500, seconds * 1000)) // warm
  requests = creates = 0
  const began = performance.now()
  await all(began + seconds * 1000)
  const took = (performance.now() - began) / 1000
  console.log('%s %s %s %s', 'TypeScript'.padEnd(12), String(batching).padEnd(9), (creates / took).toFixed(0).padStart(12), (requests / took).toFixed(0).padStart(12))
}
