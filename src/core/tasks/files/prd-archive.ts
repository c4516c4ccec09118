import {
  appendChildren,
  applyEdits,
  detectChildIndent,
  sliceIndent,
  keepChildren,
  layoutOfJson,
  sliceNodeText,
  renderJsonValue,
  transplantText,
} from '../../../json/edit.ts';
import { listArrayItems, findMember, convertNode, type JsonNode } from '../../../json/parse.ts';
import { parsePrdJson, PRD_ARCHIVE_PATH, type PrdList, prdLists, type TaskProblem } from './form/root-plan.ts';
import { parseDependencyKeys, mapPrdKeys } from './prd.ts';
import { nameNodeType, parsePrdFile, type PrdEntry } from './prd-entries.ts';
import type { TaskId } from '../ids.ts';

export { PRD_ARCHIVE_PATH };

/**
 * Both files, rewritten. Write the archive first, so that an entry is never lost; one that is briefly in both files is
 * not archived twice.
 */
export interface ArchivedPrd {
  readonly prd: string;
  readonly archive: string;
  /** Number of entries removed from the prd. */
  readonly moved: number;
}

/**
 * Moves done entries from the prd to the archive (null if none yet), each as it was written. An entry stays if
 * a remaining one depends on it or shares its id. Returns null if nothing can be moved, or one of the files is
 * malformed.
 */
export function archivePrd(
  { prd, archive }: { readonly prd: string; readonly archive: string | null },
  doneIds: ReadonlySet<TaskId>,
): ArchivedPrd | null {
  const file = parsePrdFile('', prd);
  if (file.kind === 'unreadable' || findArchiveObstacle(archive) !== null) return null;
  const moving = movableEntries(file.entries, doneIds);
  if (moving.length === 0) return null;
  const nodes = new Set(moving.map(({ node }) => node));
  const only = (keep: (node: JsonNode) => boolean): string =>
    applyEdits(
      prd,
      listsOf(file.root).map((list) => keepChildren(prd, list, keep)),
    );
  return {
    prd: only((node) => !nodes.has(node)),
    archive:
      archive === null || archive.trim() === ''
        ? listsAlone(only((node) => nodes.has(node)))
        : prdLists.reduce((text, list) => appendEntries(text, list, { prd, entries: moving }), archive),
    moved: moving.length,
  };
}

/** Returns why nothing can be added to an archive, or null if something can. */
export function findArchiveObstacle(archive: string | null): TaskProblem | null {
  if (archive === null || archive.trim() === '') return null;
  const parsed = parsePrdJson(archive);
  const problem = (position: { readonly line: number; readonly column: number } | null, what: string): TaskProblem => ({
    file: PRD_ARCHIVE_PATH,
    line: position?.line ?? null,
    column: position?.column ?? null,
    message: `${what}. Done entries stay in the prd until it is corrected`,
  });
  if (parsed.kind === 'malformed')
    return problem(parsed.problems[0] ?? null, `not valid JSON: ${parsed.problems[0]?.message ?? ''}`);
  if (parsed.root.type !== 'object') return problem(null, `it is ${nameNodeType(parsed.root)}, not an object`);
  const noArray = prdLists.find((list) => (findMember(parsed.root, list)?.type ?? 'array') !== 'array');
  return noArray === undefined ? null : problem(null, `\`${noArray}\` is not an array`);
}

/** Returns the done entries, except those that a remaining entry needs or could be confused with. */
function movableEntries(entries: readonly PrdEntry[], doneIds: ReadonlySet<TaskId>): readonly PrdEntry[] {
  const idOfKey = mapPrdKeys(entries);
  const nameOfEntry = ({ key, title }: PrdEntry): string => JSON.stringify([key, key === null ? title : null]);
  let moving = entries.filter(({ id }) => doneIds.has(id));
  for (;;) {
    const movingIds = new Set(moving.map(({ id }) => id));
    const staying = entries.filter(({ id }) => !movingIds.has(id));
    const names = new Set(staying.map(nameOfEntry));
    const needed = new Set(
      staying.flatMap(({ node }) => parseDependencyKeys(node, () => undefined).map(({ key }) => idOfKey.get(key))),
    );
    const left = moving.filter((entry) => !names.has(nameOfEntry(entry)) && !needed.has(entry.id));
    if (left.length === moving.length) return moving;
    moving = left;
  }
}

/** Returns the prd's text reduced to its lists, without entries: the form of a new archive. */
function listsAlone(text: string): string {
  const parsed = parsePrdJson(text);
  if (parsed.kind === 'malformed') return text;
  const lists = new Set(listsOf(parsed.root).filter((list) => listArrayItems(list).length > 0));
  return applyEdits(text, [
    keepChildren(
      text,
      parsed.root,
      (property) => property.children?.[1] !== undefined && lists.has(property.children[1]),
    ),
  ]);
}

/** Returns the archive with the entries of one list at the end of its own; existing ones are not added twice. */
function appendEntries(
  archive: string,
  list: PrdList,
  from: { readonly prd: string; readonly entries: readonly PrdEntry[] },
): string {
  const entries = from.entries.filter((entry) => entry.list === list);
  const parsed = parsePrdJson(archive);
  if (entries.length === 0 || parsed.kind === 'malformed') return archive;
  const { root } = parsed;
  const target = findMember(root, list);
  const layout = layoutOfJson(archive, root);
  if (target === null)
    return appendEntries(
      applyEdits(archive, [
        appendChildren(archive, root, [`${JSON.stringify(list)}: ${renderJsonValue([], layout, '')}`], layout),
      ]),
      list,
      from,
    );
  const there = new Set(listArrayItems(target).map((item) => JSON.stringify(convertNode(item))));
  const to = { indent: detectChildIndent(archive, target, layout), lineEnd: layout.lineEnd };
  const pieces = entries
    .filter(({ node }) => !there.has(JSON.stringify(convertNode(node))))
    .map(({ node }) =>
      transplantText(sliceNodeText(from.prd, node), { indent: sliceIndent(from.prd, node.offset) }, to),
    );
  return pieces.length === 0 ? archive : applyEdits(archive, [appendChildren(archive, target, pieces, layout)]);
}

function listsOf(root: JsonNode): readonly JsonNode[] {
  return prdLists.flatMap((list) => findMember(root, list) ?? []);
}
