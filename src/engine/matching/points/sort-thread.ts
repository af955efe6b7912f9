/** The thread that sorts a tree of points (point-tree.ts). Sorting a million points takes half a second. */

import KDBush from 'kdbush';
import { answerRequests } from '../../actor/worker-thread.ts';

answerRequests(async (data) => {
  KDBush.from(data as SharedArrayBuffer).finish();
});
