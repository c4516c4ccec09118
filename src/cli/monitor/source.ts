import { existsSync } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { basename, join, relative, resolve } from 'node:path';
import { taskFilePaths } from '../../core/tasks/files/form/root-plan.ts';
import type { OpenedPlaces, OpenPlaces } from '../lane/read-lane.ts';
import { readOverview } from '../overview/read-overview.ts';
import type { Overview } from '../overview/lane-waits.ts';
import { type LookAtGitHub, plainLine, type ReadEffective } from '../arguments.ts';
import { findLocalFolder, type LocalFolder, readLocal } from './local/read-local.ts';
import type { LocalPicture, Picture } from './monitor-schema.ts';
import type { MonitorWorld } from './terminal-world.ts';

/** What the monitor shows, read again when it may have changed. */
export interface Source {
  /** The local run; read again only where a file changed, or after two seconds. */
  local(now: number): Promise<Picture>;
  /** All branches as they were read last; a reading that is due goes on behind it. */
  all(now: number): Promise<Picture>;
  /** All branches, read now. */
  allNow(now: number): Promise<Picture>;
  /** Reads everything again at the next look: something was changed from here. */
  refresh(): void;
  /** The checkout's places; memorized, since each opening leaves a folder until the program ends. */
  readonly open: OpenPlaces;
}

export interface SourceOptions {
  /** As given. */
  readonly folder: string;
  readonly remote: string | null;
  readonly open: OpenPlaces;
  readonly look: LookAtGitHub;
  readonly readEffective: ReadEffective;
  readonly world: Pick<MonitorWorld, 'isAlive' | 'lastRun'>;
}

/** Some changes have no trace in what is looked at, such as a process that ended. */
const LOCAL_MS = 2000;
/** A file that is being written may be half there. */
const HALF_WRITTEN_MS = 2000;
/** One request asks the remote whether a state or a branch changed. */
const TRACE_MS = 2000;
/** Where the remote does not answer. With a token each reading also asks GitHub, dozens of times: not more often than this either. */
const ALL_MS = 10_000;
/** Some changes are no refs, such as an issue's label. */
const ALL_AT_LATEST_MS = 60_000;

interface Looked<T> {
  readonly at: number;
  readonly value: T;
}

export function createSource({ folder: given, remote, open, look, readEffective, world }: SourceOptions): Source {
  const folder = resolve(given);
  let opened: Looked<OpenedPlaces> | null = null;
  let hadState = false;
  let seen: (Looked<LocalPicture> & { readonly signature: string }) | null = null;
  let lastRun: Looked<LocalPicture['run']> | null = null;
  let overview: Looked<Overview> | null = null;
  let reading: Promise<void> | null = null;
  let problem: string | null = null;
  let isStale = false;
  /** Whether the remote is being asked for a change, and when it was last. */
  let isLooking = false;
  let lookedAt = Number.NEGATIVE_INFINITY;
  /** When, and at which traces of this machine and of the remote, all branches were read last. */
  let readAt = Number.NEGATIVE_INFINITY;
  let filesThen = '';
  let refsThen: string | null = null;

  return { local, all, allNow, refresh, open: openOnce };

  function refresh(): void {
    seen = null;
    isStale = true;
  }

  async function openOnce(): Promise<OpenedPlaces> {
    const hasState = opened?.value.kind === 'open' && existsSync(join(opened.value.folder, '.ralph', 'state'));
    if (opened?.value.kind !== 'open' || hasState !== hadState) {
      const value = await open({ folder, remote });
      hadState = value.kind === 'open' && existsSync(join(value.folder, '.ralph', 'state'));
      opened = { at: 0, value };
    }
    return opened.value;
  }

  async function local(now: number): Promise<Picture> {
    const places = await openOnce();
    const top = await realOf(places.kind === 'open' ? places.folder : folder);
    // A run may begin elsewhere in the checkout, or end.
    const last = await world.lastRun(top);
    const where = await findLocalFolder(await realOf(folder), { top, last });
    const signature = await signatureOf(where, { top, output: seen?.value.output?.file ?? null });
    if (seen === null || seen.signature !== signature || now - seen.at >= LOCAL_MS) {
      const directory = places.kind === 'open' ? places.places.find(({ name }) => name === 'directory') : undefined;
      const value = await readLocal(
        { where, last, place: directory ?? null, isAlive: (pid) => world.isAlive(pid) },
        now,
      );
      seen = { at: now, signature, value: { ...value, run: settled(value.run, now) } };
    }
    return {
      at: new Date(now).toISOString(),
      name: nameOf(top, where.folder),
      shows: 'local',
      local: seen.value,
      all: null,
      problems: [],
    };
  }

  /** The run as it was, while its file may be half written. */
  function settled(run: LocalPicture['run'], now: number): LocalPicture['run'] {
    if (run.kind !== 'unreadable') lastRun = { at: now, value: run };
    else if (lastRun !== null && now - lastRun.at < HALF_WRITTEN_MS) return lastRun.value;
    return run;
  }

  async function all(now: number): Promise<Picture> {
    const files = await traceOfFiles();
    if (!isLooking && (isStale || files !== filesThen || now - lookedAt >= TRACE_MS)) {
      isLooking = true;
      lookedAt = now;
      void readIfDue(files, now).finally(() => {
        isLooking = false;
      });
    }
    return pictureOfAll(now);
  }

  /** Reads all branches where that is due. The traces are those of before: what changes meanwhile is read again. */
  async function readIfDue(files: string, now: number): Promise<void> {
    const refs = await traceOfRefs();
    const age = now - readAt;
    const isPolite = overview?.value.repository == null || age >= ALL_MS;
    const isDue =
      isStale ||
      files !== filesThen ||
      age >= (refs === null ? ALL_MS : ALL_AT_LATEST_MS) ||
      (refs !== null && refs !== refsThen && isPolite);
    if (!isDue) return;
    [filesThen, refsThen, readAt] = [files, refs, now];
    await read(now);
  }

  /** Of what a run on this machine, or a person, writes. */
  async function traceOfFiles(): Promise<string> {
    const places = await openOnce();
    if (places.kind !== 'open') return '';
    const names = ['.ralph/state', ...taskFilePaths.plan, ...taskFilePaths.prd];
    return (await Promise.all(names.map((name) => traceOf(join(places.folder, name))))).join(' ');
  }

  /** null: a place does not answer. */
  async function traceOfRefs(): Promise<string | null> {
    const places = await openOnce();
    if (places.kind !== 'open') return null;
    const found = await Promise.all(places.places.map((place) => place.lanes().catch(() => null)));
    const traces = found.flatMap((place) => (place?.kind === 'lanes' ? [place.trace] : []));
    return traces.length === found.length ? traces.join('\n') : null;
  }

  async function allNow(now: number): Promise<Picture> {
    await read(now);
    return pictureOfAll(now);
  }

  async function pictureOfAll(now: number): Promise<Picture> {
    const places = await openOnce();
    const top = places.kind === 'open' ? places.folder : folder;
    return {
      at: new Date(now).toISOString(),
      name: overview?.value.repository ?? nameOf(top),
      shows: 'all',
      local: null,
      all: overview?.value ?? null,
      problems: problem === null ? [] : [problem],
    };
  }

  function read(now: number): Promise<void> {
    reading ??= readAll(now).finally(() => {
      reading = null;
    });
    return reading;
  }

  async function readAll(now: number): Promise<void> {
    isStale = false;
    const notes: string[] = [];
    const log = (line: string): void => {
      notes.push(plainLine(line, 300));
    };
    try {
      const places = await openOnce();
      if (places.kind === 'missing') {
        problem = `All branches cannot be read: ${plainLine(places.why, 300)}`;
        return;
      }
      overview = { at: now, value: await readOverview({ ...places, remote, look, readEffective, log }, now) };
      problem = notes.at(-1) ?? null;
    } catch (error) {
      // The picture that is there stays, and says why it is old.
      problem = `All branches cannot be read: ${plainLine(String(error), 300)}`;
    }
  }
}

/** The folder of the checkout, and within it the one that a run is for. */
function nameOf(top: string, folder = top): string {
  return plainLine(join(basename(top), relative(top, folder)), 100);
}

/** Without links, as git names a checkout. */
function realOf(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}

/** Changes whenever a file of the local run does. */
async function signatureOf(
  { folder, prefix }: LocalFolder,
  { top, output }: { readonly top: string; readonly output: string | null },
): Promise<string> {
  const names = ['status.json', 'progress.json', 'logs', ...(output === null ? [] : [`logs/${output}`])];
  const paths = [...names.map((name) => join(folder, `${prefix}${name}`)), join(top, '.ralph', 'state')];
  return [folder, ...(await Promise.all(paths.map(traceOf)))].join(' ');
}

/** Another one whenever a file is written, or the names in a folder change. */
async function traceOf(path: string): Promise<string> {
  const found = await stat(path).catch(() => null);
  return found === null ? '-' : `${found.mtimeMs}:${found.size}`;
}
