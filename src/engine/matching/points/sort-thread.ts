/** The thread that sorts a tree of points (poi-index.ts), which takes half a second for a million points. */

import KDBush from 'kdbush';
import { answerRequests } from '../../actor/worker-thread.ts';

answerRequests(async (data) => {
  KDBush.from(data as SharedArrayBuffer).finish();
});
