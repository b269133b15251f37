import { selectedOrAll } from '../state/session'
import { request } from './call'

// Frame is one event of a stream of the server.
export interface Frame {
  event: string
  data: string
}

// stream reads the events of a stream until it ends, or signal ends it. It throws a Refusal
// if the server refuses it.
export async function stream(path: string, signal: AbortSignal, onFrame: (frame: Frame) => void): Promise<void> {
  const reply = await request('GET', path, { Accept: 'text/event-stream' }, undefined, signal, selectedOrAll())
  const reader = reply.body!.pipeThrough(new TextDecoderStream()).getReader()
  for (let rest = ''; ;) {
    const { value, done } = await reader.read()
    if (done) return
    const blocks = (rest + value).split('\n\n')
    rest = blocks.pop()!
    for (const frame of blocks.map(parse)) if (frame.data !== '') onFrame(frame)
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
