import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { after } from 'node:test'

const binary = process.env['FOLIOT_BINARY'] ?? ''
assert.ok(binary, 'FOLIOT_BINARY is not set: run make clients-test')

// The server refuses unknown variables, and must not get settings of this machine.
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('FOLIOT_')))

const running = new Set<ChildProcess>()
const listening = new Set<Server>()

// A test that fails stops nothing itself.
after(() => {
  for (const child of running) child.kill('SIGKILL')
  for (const server of listening) {
    server.closeAllConnections()
    server.close()
  }
})

/** A process of foliot serve. It ends with the tests of the file, if no test stops it before. */
export class Foliot {
  private constructor(readonly url: string, private readonly child: ChildProcess) {}

  static async start(listen = '127.0.0.1:0', store = 'memory:'): Promise<Foliot> {
    const child = spawn(binary, ['serve', '--listen', listen, '--store', store, '--egress-allow', '127.0.0.0/8'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    running.add(child)
    const said: string[] = []
    child.stderr.on('data', (text: Buffer) => said.push(String(text)))
    for await (const line of createInterface(child.stdout)) {
      const url = /^listening on (http:\S+)/.exec(line)?.[1]
      if (url) {
        child.stdout.resume()
        return new Foliot(url, child)
      }
    }
    throw new Error('the server does not listen: ' + said.join(''))
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null) return
    const ended = once(this.child, 'exit')
    this.child.kill('SIGTERM')
    await ended
  }

  /** Runs another command of foliot, and returns its output. */
  command(...args: string[]): string {
    return execFileSync(binary, args, { env: { ...env, FOLIOT_SERVER: this.url }, encoding: 'utf8' }).trim()
  }
}

/** Starts an HTTP server on a free port, and returns its URL. It ends with the tests of the file. */
export async function listen(handler: (request: IncomingMessage, response: ServerResponse, body: Buffer) => void): Promise<{ url: string; server: Server }> {
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => handler(request, response, Buffer.concat(parts)))
  })
  listening.add(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { url: 'http://127.0.0.1:' + (server.address() as AddressInfo).port, server }
}

/** Returns the error of a call that must fail. */
export async function failure<E extends Error>(kind: abstract new (...args: never[]) => E, call: Promise<unknown>): Promise<E> {
  try {
    await call
  } catch (error) {
    assert.ok(error instanceof kind, String(error))
    return error
  }
  throw new assert.AssertionError({ message: 'the call did not fail' })
}

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}
