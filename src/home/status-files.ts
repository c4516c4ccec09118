import { fromRoot } from '../core/folder.ts';
import { progressDocument } from '../core/local/status-document.ts';
import { messageOf } from '../errors.ts';
import { openOwnFolder, type OwnFolder, type WorkedFolder } from './own-folder.ts';

/** `.ralph/status.json` and `.ralph/progress.json` of the folder that the run works for, for whoever watches the run. A place that cannot be written is warned of once, and the run goes on without it. */
export interface StatusFiles {
  readonly status: (document: object) => void;
  /** A call begins: its progress is written every two seconds. */
  readonly callBegins: () => void;
  /** What the agent said last. */
  readonly heard: (line: string) => void;
  readonly callEnds: (how: 'completed' | 'failed' | 'idle') => void;
}

const BEAT_MS = 2_000;

export function createStatusFiles(
  place: WorkedFolder,
  { now, warn }: { readonly now: () => number; readonly warn: (text: string) => void },
): StatusFiles {
  const unusable = new Set<string>();
  let folder: OwnFolder | null = null;
  let startedAt = now();
  let lastOutput = '';
  let beat: NodeJS.Timeout | null = null;

  function write(name: string, document: object): void {
    if (unusable.has(name)) return;
    try {
      folder ??= openOwnFolder(place, ['.ralph'], { hides: false });
      folder.replace(name, `${JSON.stringify(document, null, 2)}\n`);
    } catch (error) {
      unusable.add(name);
      warn(
        `${fromRoot(place.folder, `.ralph/${name}`)} is not written, so nothing can watch this run by it: ${messageOf(error)}.`,
      );
    }
  }
  const progress = (doing: Parameters<typeof progressDocument>[0]): void => {
    write('progress.json', progressDocument(doing, { startedAt, now: now(), lastOutput }));
  };

  return {
    status: (document) => {
      write('status.json', document);
    },
    callBegins: () => {
      startedAt = now();
      lastOutput = '';
      progress('executing');
      beat ??= setInterval(() => {
        progress('executing');
      }, BEAT_MS).unref();
    },
    heard: (line) => {
      lastOutput = line;
    },
    callEnds: (how) => {
      if (beat !== null) clearInterval(beat);
      beat = null;
      progress(how);
    },
  };
}
