/** The console: one page beside the REST interface, for who has an API key. Here it begins. */

import { render } from 'preact';
import { App, mayReplaceKey } from './app.tsx';
import { PAGE, takeKey } from './session.ts';

render(<App firstKey={takeKey(mayReplaceKey)} />, PAGE);
