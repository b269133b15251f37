import { searchAudit } from '../../api/audit'
import { listAudit, type Queue } from '../../api/openapi.gen'
import { useData } from '../../state/data'
import { forbidden } from '../../state/session'
import { Time } from '../../parts/time'

// PausedBy says since when a queue is paused, and by which token. Only the audit log
// has that, and only a token of scope admin may read it.
export function PausedBy({ queue }: { queue: Queue }) {
  if (forbidden(listAudit)) return null
  return <Entry queue={queue} />
}

function Entry({ queue: q }: { queue: Queue }) {
  const data = useData((signal) => searchAudit({ action: 'queue.pause', target: q.name }, 1, signal), [q.name, q.version])
  const entry = data.value?.items[0]
  if (!entry) return null
  return <p class="dim">Paused <Time at={entry.at} />, by {entry.by || 'a caller without a token'}.</p>
}
