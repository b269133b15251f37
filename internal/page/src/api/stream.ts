import { selectedOrAll } from '../state/session'
import { Refusal, request } from './call'
import type { Problem } from './openapi.gen'

// Frame is one event of a stream of the server.
export interface Frame {
  event: string
  data: string
}

// follow reads a stream of events until signal ends it. It connects again after
// one to three seconds: the random part keeps many pages from returning at once.
// It throws a Refusal if the server refuses the session.
export async function follow(
  path: string,
  signal: AbortSignal,
  onFrame: (frame: Frame) => void,
  onLost: (problem: Problem) => void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const reply = await request('GET', path, { Accept: 'text/event-stream' }, undefined, signal, selectedOrAll())
      await read(reply, onFrame)
    } catch (err) {
      if (signal.aborted) return
      if (!(err instanceof Refusal)) onLost({ type: '', title: '', status: 0, code: 'unavailable', detail: 'The stream was interrupted.' })
      else if (err.problem.status === 401 || err.problem.status === 403) throw err
      else onLost(err.problem)
    }
    await pause(1000 + Math.random() * 2000, signal)
  }
}

async function read(reply: Response, onFrame: (frame: Frame) => void): Promise<void> {
  const lines = new Lines()
  const reader = reply.body!.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    for (const frame of lines.add(value)) onFrame(frame)
  }
}

// Lines collects the lines of a stream of events into frames.
export class Lines {
  private rest = ''

  // add returns the frames that text completes.
  add(text: string): Frame[] {
    const blocks = (this.rest + text).split('\n\n')
    this.rest = blocks.pop()!
    return blocks.map(parse).filter((frame) => frame.data !== '')
  }
}

function parse(block: string): Frame {
  const frame: Frame = { event: 'message', data: '' }
  for (const line of block.split('\n')) {
    if (line.startsWith('event:')) frame.event = line.slice(6).trim()
    else if (line.startsWith('data:')) frame.data += line.slice(5).trimStart()
  }
  return frame
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true })
  })
}
