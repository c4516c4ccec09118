import { appendFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ObjectId } from '../../core/evidence.ts';
import type {
  CellHead,
  CellName,
  CellRead,
  CellStore,
  CellWritten,
  Passenger,
  Unavailable,
} from '../../ports/state.ts';
import { lastWords } from '../git.ts';
import { createRefNetwork, fetchRefs, type Connection, type RefNetworkOptions } from './ref-network.ts';
import { commitText, copyObject, hasObject, MAX_TEXT_BYTES, readTexts, type TextOfRef } from './ref-texts.ts';
import { isStale, isWeather } from '../../core/refusals/refusal.ts';
import { parseRefs, wordsOf } from '../remote/remote-answers.ts';
import { cut } from '../../core/text/cut.ts';

export type RefCellsOptions = RefNetworkOptions;

/** After so many commits a cell's history begins again, without a parent. */
const LONGEST_HISTORY = 16;

/** Cells that can also be written by a push of something else. */
export interface RefCells extends CellStore {
  /** The write of a text, to go along with a push of another ref; null: it can never be written. */
  carry(name: CellName, expected: CellHead | null, text: string): Passenger | null;
}

/** The cell N as the ref `refs/ralph/state/N` of a repository: a commit whose file `state.json` is the text, and its id the head. */
export function createRefCells(options: RefCellsOptions): RefCells {
  const { url, now } = options;
  const network = createRefNetwork(options);
  /** How long the histories of the heads are that this process has read or written. */
  const depths = new Map<CellHead, number>();
  return { place: 'ref', read, write, readHead, carry };

  async function read(names: readonly CellName[]): Promise<readonly CellRead[]> {
    const asked = [...new Set(names.filter(isValid))];
    const texts =
      asked.length === 0
        ? new Map<CellName, TextOfRef>()
        : await network.operation((remote) => fetchTexts(remote, asked));
    return names.map((name) => {
      if (!isValid(name)) return badName(name);
      if (!(texts instanceof Map)) return texts;
      const text = texts.get(name) ?? null;
      if (text === null) return { kind: 'absent' };
      if (text.depth !== null) depths.set(text.read.head, text.depth);
      return text.read;
    });
  }

  async function fetchTexts(
    remote: Connection,
    names: readonly CellName[],
  ): Promise<Map<CellName, TextOfRef> | Unavailable> {
    const fetched = await fetchRefs(remote, url, names);
    // That none exists is too much to conclude from silence.
    if (fetched.exitCode === 1 && fetched.stderr.trim() === '') return await confirmAbsent(remote, names);
    if (fetched.exitCode !== 0) return network.unavailable(lastWords(fetched.stderr));
    const texts = await readTexts(remote.git, names.map(refOf));
    return new Map(names.map((name, i) => [name, texts[i] ?? null]));
  }

  async function confirmAbsent(
    remote: Connection,
    names: readonly CellName[],
  ): Promise<Map<CellName, TextOfRef> | Unavailable> {
    const listed = await list(remote, names.map(refOf));
    if (!(listed instanceof Map)) return listed;
    return listed.size === 0 ? new Map() : network.unavailable('git fetch failed without a message');
  }

  async function write(name: CellName, expected: CellHead | null, text: string): Promise<CellWritten> {
    if (!isValid(name)) return badName(name);
    const bytes = Buffer.byteLength(text);
    if (bytes > MAX_TEXT_BYTES)
      return {
        kind: 'unavailable',
        why: `a text of ${bytes} bytes is too long for a ref: at most ${MAX_TEXT_BYTES} are kept`,
      };
    return network.operation((remote) => writeText(remote, { name, expected, text }));
  }

  async function writeText(remote: Connection, cell: WrittenCell): Promise<CellWritten> {
    const { commit, parent } = await commitCell([network.objectsFolder], cell);
    // The parent was fetched without its own past.
    if (parent !== null) await writeFile(join(remote.gitFolder, 'shallow'), `${parent}\n`);
    return push(remote, { ref: refOf(cell.name), expected: cell.expected, commit });
  }

  function carry(name: CellName, expected: CellHead | null, text: string): Passenger | null {
    if (!isValid(name) || Buffer.byteLength(text) > MAX_TEXT_BYTES) return null;
    return {
      ref: refOf(name),
      expected,
      board: async ({ gitFolder }) => {
        const objects = join(gitFolder, 'objects');
        const { commit, parent } = await commitCell([network.objectsFolder, objects], { name, expected, text });
        if (parent === null) return commit;
        await copyObject({ from: network.objectsFolder, to: objects }, parent);
        await appendFile(join(gitFolder, 'shallow'), `${parent}\n`);
        return commit;
      },
    };
  }

  /** Makes the commit of a cell's new text, in each of the folders; `parent` has no past there. */
  async function commitCell(
    objectsFolders: readonly string[],
    { name, expected, text }: WrittenCell,
  ): Promise<{ readonly commit: ObjectId; readonly parent: ObjectId | null }> {
    const past = expected === null ? undefined : depths.get(expected);
    // History begins again as well when what it would build on is unknown or not here any more.
    const parent =
      past !== undefined &&
      past < LONGEST_HISTORY &&
      expected !== null &&
      (await hasObject(network.objectsFolder, expected))
        ? expected
        : null;
    const depth = parent === null ? 1 : (past ?? 0) + 1;
    const commit = await commitText(objectsFolders, { name, text, parent, depth, now: now() });
    depths.set(commit, depth);
    return { commit, parent };
  }

  async function push(
    remote: Connection,
    { ref, expected, commit }: { readonly ref: string; readonly expected: CellHead | null; readonly commit: ObjectId },
  ): Promise<CellWritten> {
    const once = () =>
      remote.askOnce('push', [
        '--porcelain',
        '--no-verify',
        '--no-follow-tags',
        `--force-with-lease=${ref}:${expected ?? ''}`,
        url,
        `${commit}:${ref}`,
      ]);
    let pushed = await once();
    for (let tries = 1; pushed.exitCode !== 0; tries += 1, pushed = await once()) {
      const words = wordsOf(pushed);
      // Git compared before it sent anything.
      if (words.includes('stale info')) return { kind: 'conflict' };
      // The push may have been taken and only the answer been lost: what counts is where the ref is.
      const there = await look(remote, ref);
      if (there.kind === 'head' && there.head === commit) break;
      if (isStale(words) || (there.kind === 'head' && there.head !== expected)) return { kind: 'conflict' };
      if (tries > 1 || there.kind === 'unavailable' || !isWeather(words)) return network.notWritten(words);
    }
    return { kind: 'written', head: commit };
  }

  async function readHead(name: CellName): ReturnType<CellStore['readHead']> {
    return isValid(name) ? network.operation((remote) => look(remote, refOf(name))) : badName(name);
  }

  async function look(remote: Connection, ref: string): ReturnType<CellStore['readHead']> {
    const listed = await list(remote, [ref]);
    return listed instanceof Map ? { kind: 'head', head: listed.get(ref) ?? null } : listed;
  }

  /** Where those of the refs that exist point to. */
  async function list(remote: Connection, refs: readonly string[]): Promise<Map<string, CellHead> | Unavailable> {
    const listed = await remote.ask('ls-remote', ['--quiet', url, ...refs]);
    if (listed.exitCode !== 0) return network.unavailable(lastWords(listed.stderr));
    // Git takes a name for the end of a ref's name.
    return new Map(
      parseRefs(listed.stdout)
        .filter(({ name }) => refs.includes(name))
        .map(({ name, value }) => [name, value]),
    );
  }
}

interface WrittenCell {
  readonly name: CellName;
  readonly expected: CellHead | null;
  readonly text: string;
}

function isValid(name: CellName): boolean {
  return /^[a-z0-9][a-z0-9-]{0,99}$/.test(name);
}

function badName(name: CellName): Unavailable {
  return {
    kind: 'unavailable',
    why: `${JSON.stringify(cut(name, 120))} cannot be the name of a ref: 1 to 100 of a-z, 0-9 and "-" are allowed, not beginning with "-"`,
  };
}

function refOf(name: CellName): string {
  return `refs/ralph/state/${name}`;
}
