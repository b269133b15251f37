import { examineStore } from '../../api/openapi.gen'
import { foliot } from '../../format/command'
import { Badge } from '../../parts/badge'
import { Command } from '../../parts/command'
import { Loaded } from '../../parts/notice'
import { Panel } from '../../parts/panel'
import { Table } from '../../parts/table'
import { useData } from '../../state/data'

// StoreCheck shows what the server finds when it examines its Redis.
export function StoreCheck() {
  const data = useData((signal) => examineStore({}, undefined, signal), [])
  return (
    <Panel title="Check of the store" aside={<button type="button" onClick={data.reload}>Check again</button>}>
      <Loaded data={data}>{({ findings }) => (
        <Table
          caption="Results of the check" rows={findings} id={(f) => f.check + f.says} keys={false}
          columns={[
            { title: 'Check', cell: (f) => f.check },
            { title: 'Result', cell: (f) => (f.ok ? <Badge tone="good">good</Badge> : <Badge tone="bad">problem</Badge>) },
            { title: 'Details', cell: (f) => f.says },
          ]}
        />
      )}</Loaded>
      <Command text={foliot('doctor')} />
    </Panel>
  )
}
