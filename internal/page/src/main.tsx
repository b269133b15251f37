import './style/base.css'
import './style/layout.css'
import './style/parts.css'
import './style/wheel.css'
import './style/queues.css'
import './style/schedules.css'
import './style/task.css'
import './style/server.css'
import { render } from 'preact'
import { App } from './app'
import { pages } from './nav'
import { route } from './state/route'

// The files of the first page arrive while the server is asked who the user is.
pages.find((p) => p.path === route.value.page)?.load().catch(() => {})
render(<App />, document.getElementById('page')!)
