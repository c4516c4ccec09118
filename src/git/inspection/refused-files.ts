import type { ObjectId } from '../../core/evidence.ts';
import type { Inspection } from './inspection.ts';

/** A file that the server refused. `content`: only while it holds this; null: whatever it holds. */
export interface RefusedFile {
  readonly why: string;
  readonly content: ObjectId | null;
}

/** The inspection that leaves out as well what the server refused during this run, by path. */
export function withRefusedFiles(inspection: Inspection, refused: ReadonlyMap<string, RefusedFile>): Inspection {
  return {
    ...inspection,
    async inspect(objects, changes, standIns) {
      const withheld = new Map(await inspection.inspect(objects, changes, standIns));
      for (const { path, newId } of changes) {
        const known = refused.get(path);
        const holds = known !== undefined && newId !== null && (known.content === null || known.content === newId);
        if (holds && !withheld.has(path)) withheld.set(path, known.why);
      }
      return withheld;
    },
  };
}
