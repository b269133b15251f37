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

render(<App />, document.getElementById('page')!)
