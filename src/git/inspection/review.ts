import type { ObjectId } from '../../core/evidence.ts';
import { lookAtFirst, wantsTexts, type LookAt, type ReviewedChange } from '../../core/review/look-at.ts';
import type { Git } from '../git.ts';
import { changesBetween, eachObject, sizesOf, type Change } from '../objects.ts';

/** Longer texts are not read, nor are more than so many. */
const LONGEST_TEXT = 256 * 1024;
const MOST_TEXTS = 400;

/** What a reviewer of what is published looks at first, between two trees. */
export async function reviewBetween(git: Git, before: ObjectId, after: ObjectId): Promise<readonly LookAt[]> {
  const changes = await changesBetween(git, before, after);
  const wanted = changes
    .filter(({ path }) => wantsTexts(path))
    .flatMap(({ oldId, newId }) => [oldId, newId])
    .filter((id) => id !== null)
    .slice(0, MOST_TEXTS);
  const sizes = await sizesOf(git, [...new Set(wanted)]);
  const texts = new Map<ObjectId | null, string>();
  await eachObject(git, new Map([...sizes].filter(([, size]) => size <= LONGEST_TEXT)), (id, content) => {
    texts.set(id, content.toString());
    return Promise.resolve();
  });
  return lookAtFirst(changes.map((change) => reviewed(change, texts)));
}

function reviewed(change: Change, texts: ReadonlyMap<ObjectId | null, string>): ReviewedChange {
  const { path, oldId, newId, insertions } = change;
  return {
    path,
    kind: oldId === null ? 'added' : newId === null ? 'deleted' : 'changed',
    binary: insertions === null,
    before: texts.get(oldId) ?? null,
    after: texts.get(newId) ?? null,
  };
}
