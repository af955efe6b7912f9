/** Entry of the console: one page beside the REST interface, for holders of an API key. */

import { render } from 'preact';
import { App, mayReplaceKey } from './app.tsx';
import { PAGE, takeKey } from './session.ts';

render(<App firstKey={takeKey(mayReplaceKey)} />, PAGE);
