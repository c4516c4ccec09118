import type { CheckNow } from '../pull-request-now.ts';

/** What a run with feedback may ask GitHub beyond an idle one: ten requests, one of which is for where its branch begins. */
const MAX_REQUESTS = 9;
/** Each is a task with a log of its own. */
const MAX_CHECKS = 4;

/** The failed checks whose details one run reads, in their turn: as many as `asked` requests about people leave room for, but the first in any case. */
export function checksToRead(inTurn: readonly CheckNow[], asked: number): readonly CheckNow[] {
  const read: CheckNow[] = [];
  let requests = asked;
  for (const check of inTurn) {
    const more = requestsFor(check);
    if (read.length >= MAX_CHECKS || (read.length > 0 && requests + more > MAX_REQUESTS)) continue;
    read.push(check);
    requests += more;
  }
  return read;
}

/** Annotations, the job and where its log is; other apps have only annotations, and a commit status says all there is. */
function requestsFor({ of, id, app }: CheckNow): number {
  if (of !== 'check-run' || id === null) return 0;
  return app === 'github-actions' ? 3 : 1;
}
