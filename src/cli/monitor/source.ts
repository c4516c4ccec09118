import { existsSync } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { basename, join, relative, resolve } from 'node:path';
import { taskFilePaths } from '../../core/tasks/files/form/root-plan.ts';
import type { OpenedPlaces, OpenPlaces } from '../lane/read-lane.ts';
import { readOverview } from '../overview/read-overview.ts';
import type { Overview } from '../../report/overview/lane-waits.ts';
import { type LookAtGitHub, toPlainLine, type ReadEffectiveSettings } from '../arguments.ts';
import { findLocalFolder, type LocalFolder, readLocal } from './local/read-local.ts';
import type { LocalPicture, Picture } from './monitor-schema.ts';
import type { MonitorWorld } from './terminal-world.ts';

/** The data that the monitor shows, read again when it may have changed. */
export interface MonitorSource {
  /** Reads the local run again only after a change of its files, or after two seconds. */
  local(now: number): Promise<Picture>;
  /** Returns all branches as last read; a read that is due continues in the background. */
  all(now: number): Promise<Picture>;
  /** Reads all branches now. */
  allNow(now: number): Promise<Picture>;
  /** Makes the next call read everything again, after a change made by this program. */
  refresh(): void;
  /** Opens the checkout's places; memoized, because each opening leaves a folder until the program ends. */
  readonly open: OpenPlaces;
}

export interface SourceOptions {
  readonly folder: string;
  readonly remote: string | null;
  readonly open: OpenPlaces;
  readonly look: LookAtGitHub;
  readonly readEffective: ReadEffectiveSettings;
  readonly world: Pick<MonitorWorld, 'isAlive' | 'lastRun'>;
}

/** Maximum age of the local run in ms, because some changes leave no trace in files, such as the end of a process. */
const LOCAL_MS = 2000;
/** Time in ms during which an unreadable file is assumed to be half written. */
const HALF_WRITTEN_MS = 2000;
/** Interval in ms at which one request asks the remote whether a state or a branch has changed. */
const TRACE_MS = 2000;
/**
 * Interval in ms of reads if the remote does not answer, and minimum interval if there is a token, because each read
 * then sends dozens of requests to GitHub.
 */
const ALL_MS = 10_000;
/** Maximum age of all branches in ms, because some changes are not visible in refs, such as an issue's label. */
const ALL_AT_LATEST_MS = 60_000;

interface Looked<T> {
  readonly at: number;
  readonly value: T;
}

/** Creates the source of a folder and, if there is one, its repository on GitHub. */
export function createSource({
  folder: given,
  remote,
  open,
  look,
  readEffective,
  world,
}: SourceOptions): MonitorSource {
  const folder = resolve(given);
  let opened: Looked<OpenedPlaces> | null = null;
  let hadState = false;
  let seen: (Looked<LocalPicture> & { readonly signature: string }) | null = null;
  let lastRun: Looked<LocalPicture['run']> | null = null;
  let overview: Looked<Overview> | null = null;
  let reading: Promise<void> | null = null;
  let problem: string | null = null;
  let isStale = false;
  /** True while the remote is asked for a change. */
  let isLooking = false;
  /** The instant of the last question to the remote. */
  let lookedAt = Number.NEGATIVE_INFINITY;
  /** The instant of the last read of all branches. */
  let readAt = Number.NEGATIVE_INFINITY;
  /** The trace of the files from before that read. */
  let filesThen = '';
  /** The trace of the refs from before that read, or null if it is unknown. */
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
    // Ask each time: a run may begin in another folder of the checkout, or end.
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
      name: checkoutName(top, where.folder),
      shows: 'local',
      local: seen.value,
      all: null,
      problems: [],
    };
  }

  /** Returns the last readable run while its file may be half written. */
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

  /** Reads all branches if that is due. Takes the traces first, so a change during the read causes another read. */
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

  /** Returns a trace of the files that a run on this machine or a person writes. */
  async function traceOfFiles(): Promise<string> {
    const places = await openOnce();
    if (places.kind !== 'open') return '';
    const names = ['.ralph/state', ...taskFilePaths.plan, ...taskFilePaths.prd];
    return (await Promise.all(names.map((name) => traceOf(join(places.folder, name))))).join(' ');
  }

  /** Returns a trace of the refs, or null if one of the places does not answer. */
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
      name: overview?.value.repository ?? checkoutName(top),
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
      notes.push(toPlainLine(line, 300));
    };
    try {
      const places = await openOnce();
      if (places.kind === 'missing') {
        problem = `All branches cannot be read: ${toPlainLine(places.why, 300)}`;
        return;
      }
      overview = { at: now, value: await readOverview({ ...places, remote, look, readEffective, log }, now) };
      problem = notes.at(-1) ?? null;
    } catch (error) {
      // Keep the old picture, and add the reason why it is old.
      problem = `All branches cannot be read: ${toPlainLine(String(error), 300)}`;
    }
  }
}

/** Returns the name of the checkout's folder, with the path of the run's folder within it. */
function checkoutName(top: string, folder = top): string {
  return toPlainLine(join(basename(top), relative(top, folder)), 100);
}

/** Returns a path without links, in the form that git uses for a checkout. */
function realOf(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}

/** Returns a text that changes whenever a file of the local run changes. */
async function signatureOf(
  { folder, prefix }: LocalFolder,
  { top, output }: { readonly top: string; readonly output: string | null },
): Promise<string> {
  const names = ['status.json', 'progress.json', 'logs', ...(output === null ? [] : [`logs/${output}`])];
  const paths = [...names.map((name) => join(folder, `${prefix}${name}`)), join(top, '.ralph', 'state')];
  return [folder, ...(await Promise.all(paths.map(traceOf)))].join(' ');
}

/** Returns a text that changes whenever a file is written, or the names in a folder change. */
async function traceOf(path: string): Promise<string> {
  const stats = await stat(path).catch(() => null);
  return stats === null ? '-' : `${stats.mtimeMs}:${stats.size}`;
}
