/** The entry point of the console: one page that uses the REST interface, for holders of an API key. */

import { render } from 'preact';
import { App, mayReplaceKey } from './app.tsx';
import { PAGE, readKey } from './session.ts';

render(<App firstKey={readKey(mayReplaceKey)} />, PAGE);
