import './style/base.css'
import './style/layout.css'
import './style/parts.css'
import { render } from 'preact'
import { App } from './app'

render(<App />, document.getElementById('page')!)
